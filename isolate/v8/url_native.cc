#include "instance.h"
namespace edge {
const Native kUrlNatives[] = {{nullptr, nullptr}};
}
