import type { CommandRunner } from '../programs/run.command.js';
import type { Host } from '../hosts/host.js';
import { KERNEL_VERSION } from '../hosts/host.record.js';
import type { AgentCommandResult, AgentHost } from './agent.programs.js';

/** Runs one simulated command and collects its output. */
export const runCollected = async (
  runner: CommandRunner,
  host: Host,
  [name = '', ...args]: readonly string[],
  signal: AbortSignal,
): Promise<AgentCommandResult> => {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runner.run(
    host,
    { name, args, cwd: '/' },
    { out: (text) => out.push(`${text}\n`), err: (text) => err.push(`${text}\n`), signal },
  );
  return { code, stdout: out.join(''), stderr: err.join('') };
};

/** Strips `env NAME=value …`, because no simulated command reads variables. */
const withoutVariables = (words: readonly string[]): readonly string[] => {
  if (words[0] !== 'env') return words;
  const at = words.findIndex((word, index) => index > 0 && !word.includes('='));
  return at === -1 ? words : words.slice(at);
};

/** A light host, as seen by the agent inside the lab's process. */
export const lightAgentHost = (host: Host, runner: CommandRunner, gone: AbortSignal): AgentHost => ({
  at: (path) => path,
  // Simulated commands take seconds at most and end with their host, so they need no timeout.
  run: (command, args) => runCollected(runner, host, withoutVariables([command, ...args]), gone),
  readFile: (path) => host.files.readText(path),
  writeFile: (path, text, mode) => host.files.writeText(path, text, mode),
  rename: (from, to) => host.files.rename(from, to),
  exists: (path) => host.files.exists(path),
  watch: (folder, onChange) => host.files.watch(folder, onChange),
  bootId: async () => host.record.bootId,
  bootedAt: async () => new Date(host.record.bootedAtMs),
  osRelease: async () => host.facts.osImage,
  kernel: async () => KERNEL_VERSION,
});
