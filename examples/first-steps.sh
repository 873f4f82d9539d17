# First steps with curl, against `make run`. Paste them one by one, or run: sh examples/first-steps.sh

# What would be written: two measurements of one server, mapped to rows and cells. Nothing is stored.
curl -s 'http://127.0.0.1:8780/v1/streams/server/events?dry_run=1' -d '[{"hostname":"server1.bbb.com","ts":1426535612045,"CPU":{"CPU1_USR":0.02,"CPU1_NICE":0.0},"IO":{"BLK_READ":253453634}},{"hostname":"server1.bbb.com","ts":1426535617045,"CPU":{"CPU1_USR":0.03,"CPU1_NICE":0.0},"IO":{"BLK_READ":253454000}}]'; echo

# The same, stored: the answer comes when it is on disk.
curl -s 'http://127.0.0.1:8780/v1/streams/server/events' -d '[{"hostname":"server1.bbb.com","ts":1426535612045,"CPU":{"CPU1_USR":0.02,"CPU1_NICE":0.0},"IO":{"BLK_READ":253453634}},{"hostname":"server1.bbb.com","ts":1426535617045,"CPU":{"CPU1_USR":0.03,"CPU1_NICE":0.0},"IO":{"BLK_READ":253454000}}]'; echo

# By row: the history of one server, keyed by its name and the time.
curl -s 'http://127.0.0.1:8780/v1/tables/METRIC/rows?prefix=server1.bbb.com%23'; echo

# By time: one server, five seconds, two fields.
curl -s 'http://127.0.0.1:8780/v1/streams/server/events?hostname=server1.bbb.com&from=1426535612000&to=1426535617000&fields=CPU/*'; echo

# The latest of every server.
curl -s 'http://127.0.0.1:8780/v1/streams/server/latest'; echo
