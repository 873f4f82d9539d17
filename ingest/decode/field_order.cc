#include "ingest/decode/field_order.h"

#include <algorithm>

#include "ingest/decode/body_decoder.h"

namespace tallyd {
namespace {

constexpr size_t kMaxNodes = 16'384;
constexpr size_t kMaxTextBytes = 512u << 10;
// Longer ones would leave no room for others.
constexpr size_t kMaxLeadBytes = 1024;
// More than this many different members behind one member are not worth comparing one by one.
constexpr size_t kMaxChildren = 8;
// Behind so many members there may be more: what has many fields one by one branches once, and what
// has some of many fields branches everywhere.
constexpr size_t kMaxParentsOfMore = 4;
// So many events without room, and what was learned no longer fits the sender.
constexpr size_t kForgetAfter = 1024;

// So many events in a row are projected before the next is compared with the known orders again.
constexpr uint32_t kProjectedInARow = 64;

}  // namespace

size_t FieldOrder::Child::Hash::operator()(const Child& child) const {
  const uint64_t place = uint64_t{child.parent} << 8 | static_cast<uint64_t>(child.kind);
  return FieldNameHash()(child.name) ^ static_cast<size_t>(place * 0x9e3779b97f4a7c15u);
}

FieldOrder::FieldOrder() { nodes_.emplace_back(); }

FieldOrder::Step FieldOrder::Differ(std::string_view name, bool raw, Kind kind) {
  if (mode_ == Mode::kFollowing) {
    const uint32_t child = FindMore(name, kind);
    if (child != 0 && (nodes_[child].plain || !raw)) {
      at_ = child;
      return Step::kOk;
    }
  }
  // What holds escapes is no member of a superset, nor a child: it is looked for only then.
  const auto is_escaped = [&] { return raw && name.find('\\') != std::string_view::npos; };
  if (mode_ == Mode::kFollowing && !is_escaped()) StartProjecting();
  if (mode_ == Mode::kProjecting) {
    const Projection::Found found = projection_.Member(name, kind);
    if (found == Projection::Found::kYes) return Step::kOk;
    if (found == Projection::Found::kTwice) return Step::kDuplicate;
  }
  if (is_escaped()) return Step::kEscaped;
  if (mode_ != Mode::kCollecting) StartCollecting();
  const Step step = Collect(name, kind);
  if (step == Step::kOk) Learn(name, kind, nullptr);
  return step;
}

void FieldOrder::Close() {
  if (mode_ == Mode::kFollowing) {
    if (const uint32_t child = FindChild(Kind::kClose); child != 0) {
      at_ = child;
      return;
    }
    if (!StartProjecting()) StartCollecting();
  }
  if (mode_ == Mode::kProjecting) return projection_.Close();
  Collect({}, Kind::kClose);
  Learn({}, Kind::kClose, nullptr);
}

const Shape* FieldOrder::End(ShapeRegistry& shapes, std::unique_ptr<const Shape>* owned) {
  if (mode_ == Mode::kFollowing) {
    if (const uint32_t child = FindChild(Kind::kEnd); child != 0) {
      at_ = child;
      return nodes_[child].shape;
    }
    if (!StartProjecting()) StartCollecting();
  }
  if (mode_ == Mode::kProjecting) {
    if (projection_.fits()) {
      projects_next_ = ++projected_ % kProjectedInARow != 0;
      return &superset_->shape();
    }
    StartCollecting();
  }
  if (fields_.empty() || has_too_many_names_) return nullptr;
  const Shape* shape = shapes.Intern(fields_, marks_labels_ ? &labels_ : nullptr);
  if (shape != nullptr) {
    Learn({}, Kind::kEnd, shape);
    if (!learning_ && ++unlearned_events_ > kForgetAfter) Forget();
    return shape;
  }
  auto own = std::make_unique<Shape>();
  own->fields.assign(fields_.begin(), fields_.end());
  if (marks_labels_) own->labels = labels_;
  *owned = std::move(own);
  return nullptr;
}

std::string_view FieldOrder::ClosedName() const {
  uint32_t i = nodes_[at_].parent;
  for (size_t closed = 0; i != 0; i = nodes_[i].parent) {
    if (nodes_[i].kind == Kind::kClose) ++closed;
    if (nodes_[i].kind == Kind::kObject && closed-- == 0) break;
  }
  return nodes_[i].name;
}

std::string FieldOrder::PathOf(std::string_view name) {
  if (mode_ != Mode::kCollecting) StartCollecting();
  return prefix_ + std::string(name);
}

// The members that led to at_ are projected, too. False: the superset lacks one of them.
bool FieldOrder::StartProjecting() {
  if (superset_ == nullptr) return false;
  projection_.Begin(*superset_);
  for (const uint32_t i : WayTo(at_)) {
    const Node& node = nodes_[i];
    if (node.kind == Kind::kClose) {
      projection_.Close();
    } else if (projection_.Member(node.name, node.kind) != Projection::Found::kYes) {
      return false;
    }
  }
  mode_ = Mode::kProjecting;
  return true;
}

// Spells out the members so far: those that led to at_, or were projected.
void FieldOrder::StartCollecting() {
  const bool projected = mode_ == Mode::kProjecting;
  mode_ = Mode::kCollecting;
  projects_next_ = false;
  learning_ = true;
  prefix_.clear();
  prefix_sizes_.clear();
  seen_.clear();
  collected_ = 0;
  paths_.clear();
  fields_.clear();
  labels_.clear();
  if (projected) {
    at_ = 0;
    projection_.ForEach([this](std::string_view name, Kind kind) {
      Collect(name, kind);
      Learn(name, kind, nullptr);
    });
    return;
  }
  for (const uint32_t i : WayTo(at_)) Collect(nodes_[i].name, nodes_[i].kind);
}

// The nodes between the beginning of an event and this one.
std::vector<uint32_t> FieldOrder::WayTo(uint32_t node) const {
  std::vector<uint32_t> way;
  for (uint32_t i = node; i != 0; i = nodes_[i].parent) way.push_back(i);
  std::ranges::reverse(way);
  return way;
}

FieldOrder::Step FieldOrder::Collect(std::string_view name, Kind kind) {
  if (has_too_many_names_) return Step::kTooManyNames;
  if (kind == Kind::kClose) {
    prefix_.resize(prefix_sizes_.back());
    prefix_sizes_.pop_back();
    return Step::kOk;
  }
  if (name.empty()) return Step::kEmptyName;
  if (prefix_.size() + name.size() > kMaxFieldNameBytes) return Step::kTooLong;
  const size_t bytes = prefix_.size() + name.size() + kNameBytes;
  if (bytes > names_left_) {
    has_too_many_names_ = true;
    return Step::kTooManyNames;
  }
  names_left_ -= bytes;
  collected_ += bytes;
  most_collected_ = std::max(most_collected_, collected_);
  std::string& path = paths_.emplace_back();
  path.reserve(prefix_.size() + name.size());
  path.append(prefix_).append(name);
  if (!seen_.insert(path).second) return Step::kDuplicate;
  if (kind == Kind::kLabel) labels_.push_back(static_cast<uint32_t>(fields_.size()));
  if (kind == Kind::kValue || kind == Kind::kLabel) fields_.push_back(path);
  if (kind == Kind::kObject) {
    prefix_sizes_.push_back(prefix_.size());
    prefix_.append(name).push_back('/');
  }
  return Step::kOk;
}

uint32_t FieldOrder::FindChild(Kind kind) const {
  uint32_t i = nodes_[at_].child;
  while (i != 0 && nodes_[i].kind != kind) i = nodes_[i].sibling;
  return i != 0 ? i : FindMore({}, kind);
}

uint32_t FieldOrder::FindMore(std::string_view name, Kind kind) const {
  if (!nodes_[at_].has_more) return 0;
  const auto found = more_children_.find(Child{at_, kind, name});
  return found != more_children_.end() ? found->second : 0;
}

void FieldOrder::Learn(std::string_view name, Kind kind, const Shape* shape) {
  if (!learning_) return;
  uint32_t* link = &nodes_[at_].child;
  size_t children = 0;
  for (; *link != 0; link = &nodes_[*link].sibling, ++children) {
    const Node& child = nodes_[*link];
    if (child.kind == kind && child.name == name) {
      at_ = *link;
      return;
    }
  }
  if (const uint32_t child = FindMore(name, kind); child != 0) {
    at_ = child;
    return;
  }
  const bool is_more = children >= kMaxChildren;
  const bool is_first_of_more = is_more && !nodes_[at_].has_more;
  if ((is_first_of_more && parents_of_more_ == kMaxParentsOfMore) || nodes_.size() >= kMaxNodes ||
      text_bytes_ + name.size() > kMaxTextBytes) {
    learning_ = false;
    return;
  }
  const auto added = static_cast<uint32_t>(nodes_.size());
  Node node;
  node.name = StoreText(name);
  node.kind = kind;
  node.plain = name.find_first_of("\"\\") == std::string_view::npos;
  node.parent = at_;
  node.shape = shape;
  if (is_more) {
    parents_of_more_ += is_first_of_more ? 1 : 0;
    nodes_[at_].has_more = true;
    more_children_.emplace(Child{at_, kind, node.name}, added);
  } else {
    *link = added;
  }
  at_ = added;
  nodes_.push_back(node);
}

void FieldOrder::Shrink() {
  if (most_collected_ <= kKeptCollected) return;
  most_collected_ = 0;
  fields_ = {};
  labels_ = {};
  seen_ = {};
  paths_ = {};
  prefix_ = {};
  prefix_sizes_ = {};
}

void FieldOrder::SetLead(std::string_view lead) {
  if (lead.size() > kMaxLeadBytes || text_bytes_ + lead.size() > kMaxTextBytes) return;
  Lead& known = nodes_[at_].lead;
  known.text = StoreText(lead);
  char head[sizeof known.head] = {};
  char mask[sizeof known.mask] = {};
  const size_t size = std::min(lead.size(), sizeof head);
  std::copy_n(lead.data(), size, head);
  std::fill_n(mask, size, '\xff');
  known.head = LoadWord(head);
  known.mask = LoadWord(mask);
}

std::string_view FieldOrder::StoreText(std::string_view text) {
  if (texts_.empty() || texts_.back().capacity() - texts_.back().size() < text.size()) {
    texts_.emplace_back().reserve(std::max(kChunkBytes, text.size()));
  }
  std::string& chunk = texts_.back();
  const size_t begin = chunk.size();
  chunk.append(text);
  text_bytes_ += text.size();
  return std::string_view(chunk).substr(begin);
}

void FieldOrder::Forget() {
  nodes_.resize(1);
  nodes_[0] = Node();
  at_ = 0;
  more_children_.clear();
  parents_of_more_ = 0;
  texts_.clear();
  text_bytes_ = 0;
  unlearned_events_ = 0;
}

}  // namespace tallyd
