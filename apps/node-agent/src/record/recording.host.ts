import type { AgentLog, HostPort } from '../node/host.ports.js';
import { commandLine } from '../software/item.js';

/** Prefixes of read-only commands. They run every minute and are not actions of the agent. */
const LOOKS = [
  'apt-cache ',
  'ctr -n k8s.io images ls',
  'dpkg-query ',
  'lsmod',
  'swapon --show',
  'sysctl net.',
  'systemctl is-',
  'systemctl show ',
  'uname ',
];
const LOOKS_ENDING = / (--version|version -o short|version --client)$/;
const WORDS_MAX = 400;

export const onlyLooks = (line: string): boolean =>
  LOOKS.some((beginning) => line.startsWith(beginning)) || LOOKS_ENDING.test(line);

/** Wraps the host and logs every command that may change it: the command, its result and its duration. */
export const recordingHost = (host: HostPort, log: AgentLog): HostPort => ({
  at: (path) => host.at(path),
  readFile: (path) => host.readFile(path),
  writeFile: (path, text, mode) => host.writeFile(path, text, mode),
  rename: (from, to) => host.rename(from, to),
  exists: (path) => host.exists(path),
  watch: (folder, onChange) => host.watch(folder, onChange),
  bootId: () => host.bootId(),
  bootedAt: () => host.bootedAt(),
  osRelease: () => host.osRelease(),
  kernel: () => host.kernel(),
  run: async (command, args, options) => {
    const line = commandLine(command, args);
    const beganMs = performance.now();
    const result = await host.run(command, args, options);
    if (onlyLooks(line)) return result;
    const ms = Math.round(performance.now() - beganMs);
    const { code, stderr } = result;
    if (code === 0) log('info', 'ran', { command: line, ms });
    else log('warn', 'a command failed', { command: line, code, ms, stderr: stderr.trim().slice(-WORDS_MAX) });
    return result;
  },
});
