#!/bin/bash
# Runs in the guest after the boot: the operations of an administrator on the service. Each step writes its results to /out, which
# soak_unit.py checks. The guest boots twice; at the first boot only the package is installed and the unit is enabled.
export LC_ALL=C.UTF-8 TERM=dumb
log=/var/log/ctprof

windows() { wc -l <"$log/index.tsv" 2>>/out/waits || echo 0; }

# until_windows COUNT SECONDS: waits until there are COUNT windows, for at most SECONDS.
until_windows() {
  local end=$(($(date +%s) + $2))
  while [ "$(windows)" -lt "$1" ] && [ "$(date +%s)" -lt "$end" ]; do sleep 1; done
}

# state NAME: writes the state of the service, the time and the number of windows.
state() {
  {
    systemctl show ctprof -p ActiveState -p SubState -p MainPID -p NRestarts -p Result -p UnitFileState -p LoadState
    echo "Windows=$(windows)"
    echo "Now=$(date +%s.%N)"
  } >"/out/state-$1"
}

# until_active SECONDS: waits until the service is active, for at most SECONDS.
until_active() {
  local end=$(($(date +%s) + $1))
  until systemctl --quiet is-active ctprof || [ "$(date +%s)" -ge "$end" ]; do sleep 1; done
}

pid() { systemctl show ctprof -p MainPID --value; }

# run NAME COMMAND...: runs a command, and writes its output and exit status.
run() {
  local name=$1 status=0
  shift
  "$@" >"/out/result-$name" 2>&1 || status=$?
  echo "status $status" >>"/out/result-$name"
}

# Load by another user: short-lived processes, and a process that writes.
work() {
  setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'while :; do /bin/true; sleep 0.2; done' &
  setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'exec sh -c "while :; do echo x >/tmp/written; sleep 0.1; done"' &
}

run_first_boot() {
  until_active 120
  state boot
  systemd-analyze security --no-pager ctprof.service >/out/security 2>&1
  cat "/proc/$(pid)/status" >/out/process
  work
  until_windows 2 400
  state shipped
  run show ctprof --no-pager show "$log"
  run show-since ctprof --no-pager show "$log" --since "10 min ago"
  run show-other setpriv --reuid=65534 --regid=65534 --clear-groups ctprof --no-pager show "$log"
  run root ctprof record -d 2s -o /out/root.ctprof.zst
  ls -laR /var/log/private "$log" >/out/files
  cp "/proc/$(pid)/status" /out/process-later
}

# Applies settings of the administrator: shorter windows, which are kept for a shorter time.
shorten_windows() {
  mkdir -p /etc/systemd/system/ctprof.service.d /etc/ctprof
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/ctprof record --every 5s -o /var/log/ctprof\n' >/etc/systemd/system/ctprof.service.d/override.conf
  printf '[record]\nkeep = 2d\n' >/etc/ctprof/ctprof.conf
}

run_second_boot() {
  until_active 120
  state again
  work
  until_windows $(($(windows) + 1)) 200
  state before-reload
  run daemon-reload systemctl daemon-reload
  run reload systemctl reload ctprof
  sleep 2
  state reloaded
  shorten_windows
  run daemon-reload-2 systemctl daemon-reload
  state before-restart
  run reload-or-restart systemctl reload-or-restart ctprof
  state restarted
  until_windows $(($(windows) + 2)) 120
  state before-stop
  run stop systemctl stop ctprof
  state stopped
  sleep 3
  run start systemctl start ctprof
  until_windows $(($(windows) + 2)) 120
  state before-kill
  systemctl kill --signal=KILL ctprof
  sleep 2
  state killed
  until_active 60
  until_windows $(($(windows) + 2)) 120
  state after-kill
  run show-2 ctprof --no-pager show "$log"
}

upgrade_and_remove() {
  run upgrade dpkg --install /opt/debs/*.deb
  until_windows $(($(windows) + 1)) 120
  state upgraded
  cp -r /var/log/private/ctprof /out/log
  run remove dpkg --remove ctprof-plugins-extra ctprof
  state removed
  pgrep -a ctprof >/out/left-running
  ls -la /var/log/private >/out/files-removed
  run purge dpkg --purge ctprof-plugins-extra ctprof
  rm -r /etc/systemd/system/ctprof.service.d /etc/ctprof  # files of the administrator
  find / -xdev -path /opt/debs -prune -o -path /out -prune -o -name '*ctprof*' -print >/out/left 2>&1
  grep -l ctprof /etc/passwd /etc/group /etc/shadow >>/out/left
}

mkdir -p /out
rm -rf /out/status /out/log  # of the previous boot
if [ ! -e /opt/first ]; then
  touch /opt/first
  run_first_boot
  cp -r /var/log/private/ctprof /out/log
  state shutdown
  journalctl --no-pager -u ctprof >/out/journal
else
  run_second_boot
  upgrade_and_remove
  journalctl --no-pager -b -u ctprof >/out/journal
fi
systemctl --no-pager --failed >/out/failed
journalctl --no-pager -b -p warning >/out/warnings
echo 0 >/out/status
sync
systemctl poweroff
