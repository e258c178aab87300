// Fields: what a problem or a policy is, as it comes from Python. Float64 arrays that go by name.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tsgrad {

struct Field {
  const double* data;
  std::vector<std::size_t> shape;
};

// One number an arm, or one that all arms share.
class PerArm {
 public:
  PerArm(const double* data, bool shared) : data_(data), shared_(shared) {}
  double operator[](int k) const { return data_[shared_ ? 0 : k]; }
  bool shared() const { return shared_; }

 private:
  const double* data_;
  bool shared_;
};

class Fields {
 public:
  static constexpr std::size_t kMostArms = std::size_t(1) << 26;  // offsets into [K][lanes] are 32-bit integers

  explicit Fields(std::string owner) : owner_(std::move(owner)) {}

  void put(const std::string& name, Field field) { fields_[name] = std::move(field); }

  // A field that may be left out; nothing where it is.
  const Field* find(const std::string& name) const {
    read_.insert(name);
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : &found->second;
  }

  const Field& get(const std::string& name) const {
    const Field* const field = find(name);
    if (!field) throw std::invalid_argument(called(name) + " is missing; there are: " + names());
    return *field;
  }

  // How many arms there are, from a field with one number per arm.
  int arms(const std::string& name) const {
    const Field& field = get(name);
    if (field.shape.size() != 1 || field.shape[0] < 1 || field.shape[0] > kMostArms)
      throw wrong_shape(name, "[K] with K from 1 to " + std::to_string(kMostArms));
    return static_cast<int>(field.shape[0]);
  }

  PerArm per_arm(const std::string& name, int arms) const {
    const Field& field = get(name);
    if (field.shape.size() > 1 || (field.shape.size() == 1 && field.shape[0] != static_cast<std::size_t>(arms)))
      throw wrong_shape(name, "[" + std::to_string(arms) + "] or []");
    return {field.data, field.shape.empty()};
  }

  double number(const std::string& name) const {
    const Field& field = get(name);
    if (!field.shape.empty()) throw wrong_shape(name, "[]");
    return field.data[0];
  }

  std::invalid_argument wrong_shape(const std::string& name, const std::string& wanted) const {
    std::string shape;
    for (const std::size_t length : get(name).shape) shape += (shape.empty() ? "" : ", ") + std::to_string(length);
    return std::invalid_argument(called(name) + " must have shape " + wanted + ", got [" + shape + "]");
  }

  // A field that nobody has asked for is a misspelt one.
  void check_all_read() const {
    for (const auto& [name, field] : fields_)
      if (!read_.count(name)) throw std::invalid_argument(called(name) + " is unknown to this kernel");
  }

 private:
  std::string called(const std::string& name) const { return owner_ + " field '" + name + "'"; }

  std::string names() const {
    std::string all;
    for (const auto& [name, field] : fields_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  std::string owner_;
  std::map<std::string, Field> fields_;
  mutable std::set<std::string> read_;
};

}  // namespace tsgrad
