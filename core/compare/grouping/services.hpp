// Services: determines the unit, container or pod of a cgroup from its path.
//
//   /system.slice/nginx.service                                   nginx.service
//   /user.slice/user-7.slice/user@7.service/app.slice/a.service   a.service
//   /user.slice/user-7.slice/session-3.scope                      session-3.scope
//   /system.slice/docker-0123456789ab....scope                    docker-0123456789ab
//   /docker/0123456789ab...                                       docker-0123456789ab
//   /kubepods.slice/...-pod1a2b_3c4d.slice/cri-containerd-01...   pod1a2b_3c4d/cri-containerd-01...
//
// A unit inside a container follows the container after a slash. A path without unit, container or
// pod is its own service.

#pragma once

#include <string>
#include <string_view>

namespace ctprof {

std::string find_service(std::string_view cgroup);

}  // namespace ctprof
