#!/bin/bash
# In the guest, behind everything else that boots: what an administrator does with the service. Each step leaves what it saw in /out, and
# soak_unit.py judges. The host is booted twice; the first time nothing but the package and `systemctl enable` are there.
export LC_ALL=C.UTF-8 TERM=dumb
log=/var/log/ctprof

windows() { wc -l <"$log/index.tsv" 2>>/out/waits || echo 0; }

# until_windows COUNT SECONDS
until_windows() {
  local end=$(($(date +%s) + $2))
  while [ "$(windows)" -lt "$1" ] && [ "$(date +%s)" -lt "$end" ]; do sleep 1; done
}

# state NAME: of the service, now; with the time and the number of windows.
state() {
  {
    systemctl show ctprof -p ActiveState -p SubState -p MainPID -p NRestarts -p Result -p UnitFileState -p LoadState
    echo "Windows=$(windows)"
    echo "Now=$(date +%s.%N)"
  } >"/out/state-$1"
}

# until_active SECONDS
until_active() {
  local end=$(($(date +%s) + $1))
  until systemctl --quiet is-active ctprof || [ "$(date +%s)" -ge "$end" ]; do sleep 1; done
}

pid() { systemctl show ctprof -p MainPID --value; }

# said NAME COMMAND...: what it says, and its status.
said() {
  local name=$1 status=0
  shift
  "$@" >"/out/said-$name" 2>&1 || status=$?
  echo "status $status" >>"/out/said-$name"
}

# Somebody who comes and goes, and one who writes, both of another user.
work() {
  setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'while :; do /bin/true; sleep 0.2; done' &
  setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'exec sh -c "while :; do echo x >/tmp/written; sleep 0.1; done"' &
}

as_shipped() {
  until_active 120
  state boot
  systemd-analyze security --no-pager ctprof.service >/out/security 2>&1
  cat "/proc/$(pid)/status" >/out/process
  work
  until_windows 2 400
  state shipped
  said show ctprof --no-pager show "$log"
  said show-since ctprof --no-pager show "$log" --since "10 min ago"
  said show-other setpriv --reuid=65534 --regid=65534 --clear-groups ctprof --no-pager show "$log"
  said root ctprof record -d 2s -o /out/root.ctprof.zst
  ls -laR /var/log/private "$log" >/out/files
  cp "/proc/$(pid)/status" /out/process-later
}

# An administrator's own settings: shorter windows, kept for less long.
shorten() {
  mkdir -p /etc/systemd/system/ctprof.service.d /etc/ctprof
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/ctprof record --every 5s -o /var/log/ctprof\n' >/etc/systemd/system/ctprof.service.d/override.conf
  printf '[record]\nkeep = 2d\n' >/etc/ctprof/ctprof.conf
}

handled() {
  until_active 120
  state again
  work
  until_windows $(($(windows) + 1)) 200
  state before-reload
  said daemon-reload systemctl daemon-reload
  said reload systemctl reload ctprof
  sleep 2
  state reloaded
  shorten
  said daemon-reload-2 systemctl daemon-reload
  state before-restart
  said reload-or-restart systemctl reload-or-restart ctprof
  state restarted
  until_windows $(($(windows) + 2)) 120
  state before-stop
  said stop systemctl stop ctprof
  state stopped
  sleep 3
  said start systemctl start ctprof
  until_windows $(($(windows) + 2)) 120
  state before-kill
  systemctl kill --signal=KILL ctprof
  sleep 2
  state killed
  until_active 60
  until_windows $(($(windows) + 2)) 120
  state after-kill
  said show-2 ctprof --no-pager show "$log"
}

gone() {
  said upgrade dpkg --install /opt/debs/*.deb
  until_windows $(($(windows) + 1)) 120
  state upgraded
  cp -r /var/log/private/ctprof /out/log
  said remove dpkg --remove ctprof-plugins-extra ctprof
  state removed
  pgrep -a ctprof >/out/left-running
  ls -la /var/log/private >/out/files-removed
  said purge dpkg --purge ctprof-plugins-extra ctprof
  rm -r /etc/systemd/system/ctprof.service.d /etc/ctprof  # what the administrator wrote
  find / -xdev -path /opt/debs -prune -o -path /out -prune -o -name '*ctprof*' -print >/out/left 2>&1
  grep -l ctprof /etc/passwd /etc/group /etc/shadow >>/out/left
}

mkdir -p /out
rm -rf /out/status /out/log  # of the boot before
if [ ! -e /opt/first ]; then
  touch /opt/first
  as_shipped
  cp -r /var/log/private/ctprof /out/log
  state shutdown
  journalctl --no-pager -u ctprof >/out/journal
else
  handled
  gone
  journalctl --no-pager -b -u ctprof >/out/journal
fi
systemctl --no-pager --failed >/out/failed
journalctl --no-pager -b -p warning >/out/warnings
echo 0 >/out/status
sync
systemctl poweroff
