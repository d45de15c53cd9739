import { AGENT_PATHS, AgentConfig } from '@fairlead/contracts';
import { readFile } from 'node:fs/promises';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { realFiles } from './adapters/files/real.files.js';
import { realHost } from './adapters/host/real.host.js';
import { startAgent } from './agent.js';
import type { AgentLog } from './agent/agent.ports.js';
import { AGENT_VERSION } from './version.js';

export * from './index.js';

const KEEP_ALIVE_MS = 60_000;

/** One JSON line each: journald keeps them, and people read them with journalctl. */
const logLine: AgentLog = (level, message, fields = {}) => {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`);
};

/** Waits for the order to stop. It is also what keeps the process alive while NATS is away. */
const untilSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const timer = setInterval(() => undefined, KEEP_ALIVE_MS);
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve(signal);
      });
  });

const main = async (): Promise<void> => {
  const root = process.env['FAIRLEAD_ROOT'] ?? '';
  const { values } = parseArgs({ options: { config: { type: 'string' }, version: { type: 'boolean' } } });
  if (values.version === true) {
    process.stdout.write(`${AGENT_VERSION}\n`);
    return;
  }
  const host = realHost(root);
  const config = AgentConfig.parse(JSON.parse(await readFile(values.config ?? `${root}${AGENT_PATHS.config}`, 'utf8')));
  const credentials = (await host.readFile(AGENT_PATHS.credentials)) ?? '';
  const stopped = untilSignal();
  const agent = await startAgent({ config, host, files: realFiles(root), credentials, log: logLine });
  logLine('info', 'the agent works', { node: config.node, version: AGENT_VERSION });
  const signal = await stopped;
  logLine('info', 'stopping', { signal });
  await agent.stop();
};

const isProgram = (): boolean => {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(import.meta.url));
};

if (isProgram()) {
  main().catch((error: unknown) => {
    logLine('error', 'the agent cannot start', { cause: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  });
}
