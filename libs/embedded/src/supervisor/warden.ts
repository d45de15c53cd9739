import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Node offers no "die with your parent" (PR_SET_PDEATHSIG), and that would not reach grandchildren. So each owner of
 * processes has a warden: a small `sh` in its own session that reads from a pipe whose other end only the owner holds.
 * However the owner ends, including by kill -9, the kernel closes the pipe; the warden then stops every registered
 * process group, and exits.
 */
const SCRIPT = `
trap '' INT TERM HUP
members=
while read -r verb group signal; do
  kept=
  for member in $members; do [ "\${member%%:*}" = "$group" ] || kept="$kept $member"; done
  members=$kept
  [ "$verb" = watch ] && members="$members $group:$signal"
done
for member in $members; do kill -s "\${member#*:}" -- "-\${member%%:*}"; done
tries=0
while [ $tries -lt 50 ]; do
  left=
  for member in $members; do kill -s 0 -- "-\${member%%:*}" && left=yes; done
  [ -n "$left" ] || exit 0
  tries=$((tries + 1))
  sleep 0.1
done
for member in $members; do kill -s KILL -- "-\${member%%:*}"; done
`;

export class Warden {
  private readonly members = new Map<number, string>();
  private shell: ChildProcess | undefined;
  private closed = false;

  /** From now on that group is ended with that signal if this process dies; after 5 s with SIGKILL. */
  watch(groupId: number, signal: NodeJS.Signals): void {
    this.members.set(groupId, signal.replace(/^SIG/, ''));
    if (this.shell === undefined) this.hire();
    else this.tell(`watch ${groupId} ${this.members.get(groupId) ?? 'TERM'}`);
  }

  /** The group has ended; its number may soon belong to another one. */
  forget(groupId: number): void {
    if (this.members.delete(groupId)) this.tell(`forget ${groupId}`);
  }

  close(): void {
    this.closed = true;
    this.shell?.stdin?.end();
    this.shell = undefined;
  }

  private hire(): void {
    if (this.closed) return;
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'fairlead-warden'], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    });
    this.shell = shell;
    shell.unref();
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    shell.stdin?.on('error', () => undefined); // It was killed: 'exit' starts another one.
    shell.on('exit', () => this.rehire(shell));
    shell.on('error', () => this.rehire(shell));
    for (const [groupId, signal] of this.members) this.tell(`watch ${groupId} ${signal}`);
  }

  private rehire(lost: ChildProcess): void {
    if (this.shell !== lost) return;
    this.shell = undefined;
    if (lost.pid !== undefined && this.members.size > 0) this.hire();
  }

  private tell(sentence: string): void {
    this.shell?.stdin?.write(`${sentence}\n`);
  }
}
