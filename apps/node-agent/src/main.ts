import { AGENT_PATHS, AgentConfig, wordsOf } from '@fairlead/contracts';
import { readFile } from 'node:fs/promises';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { realFiles } from './adapters/files/real.files.js';
import { JournalFile } from './adapters/host/journal.file.js';
import { realHost } from './adapters/host/real.host.js';
import { checkNats } from './adapters/nats/nats.check.js';
import { startAgent } from './agent.js';
import { runHostChannel, runJoin } from './host/host.main.js';
import type { AgentLog } from './node/host.ports.js';
import type { HostFiles } from './files/files.ports.js';
import { fullLine, journaldLine, type LogLine } from './record/log.line.js';
import { recordingHost } from './record/recording.host.js';
import { AGENT_VERSION } from './version.js';

export * from './index.js';

const KEEP_ALIVE_MS = 60_000;
/** Three such trials take as long as bootstrap-svc waits. */
const TRIAL_MS = 25_000;
/** Longer than a connect whose packets are dropped. */
const CHECK_MS = 15_000;

const print = (line: LogLine): void => {
  const { JOURNAL_STREAM: journald } = process.env;
  process.stdout.write(`${journald === undefined ? fullLine(line, new Date()) : journaldLine(line)}\n`);
};

/** Readable lines for journalctl and a file on the host. */
const makeLog = (journal: JournalFile | undefined): AgentLog => {
  return (level, message, fields = {}) => {
    const line = { level, message, fields };
    print(line);
    if (level !== 'debug') journal?.add(fullLine(line, new Date()));
  };
};

/** Waits for a stop signal. Also keeps the process alive while NATS is away. */
const untilSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const timer = setInterval(() => undefined, KEEP_ALIVE_MS);
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve(signal);
      });
  });

/** A new agent that replaced a working one confirms that it works too, or exits, which its guard counts. */
const endTrial = async (files: HostFiles, connected: Promise<void>, log: AgentLog): Promise<void> => {
  if ((await files.stat(AGENT_PATHS.trial)) === undefined) return;
  const timer = setTimeout(() => {
    log('error', 'this new agent does not reach the event log and gives way', { afterMs: TRIAL_MS });
    process.exit(1);
  }, TRIAL_MS);
  void connected.then(async () => {
    clearTimeout(timer);
    await files.remove(AGENT_PATHS.trial);
    log('info', 'this new agent works and stays', { version: AGENT_VERSION });
  });
};

/** After a rollback, the configuration may contain fields of a newer agent. */
const readConfig = async (file: string): Promise<AgentConfig> =>
  AgentConfig.strip().parse(JSON.parse(await readFile(file, 'utf8')));

/** Prints whether this host reaches NATS with the agent's configuration and credentials. */
const check = async (root: string, configFile = `${root}${AGENT_PATHS.config}`): Promise<void> => {
  const config = await readConfig(configFile);
  const credentials = (await realHost(root).readFile(AGENT_PATHS.credentials)) ?? '';
  const { reached, sentence } = await checkNats({ config, credentials, limitMs: CHECK_MS });
  process.stdout.write(`${sentence}\n`, () => process.exit(reached ? 0 : 1));
};

const MARK_MODE = 0o600;

const main = async (): Promise<void> => {
  const root = process.env['FAIRLEAD_ROOT'] ?? '';
  const { values } = parseArgs({
    options: {
      config: { type: 'string' },
      version: { type: 'boolean' },
      check: { type: 'boolean' },
      join: { type: 'boolean' },
      host: { type: 'boolean' },
      server: { type: 'string' },
      cluster: { type: 'string' },
    },
  });
  if (values.version === true) {
    process.stdout.write(`${AGENT_VERSION}\n`);
    return;
  }
  if (values.check === true) return check(root, values.config);
  if (values.join === true) return runJoin(root, values);
  if (values.host === true) return runHostChannel(root, makeLog(undefined), untilSignal());
  const journal = new JournalFile(`${root}${AGENT_PATHS.journal}`, (cause) =>
    print({ level: 'warn', message: 'the journal of the host cannot be written', fields: { cause } }),
  );
  const log = makeLog(journal);
  const files = realFiles(root);
  const config = await readConfig(values.config ?? `${root}${AGENT_PATHS.config}`);
  const host = recordingHost(realHost(root, config.profile?.proxy), log);
  const credentials = (await host.readFile(AGENT_PATHS.credentials)) ?? '';
  const stopped = untilSignal();
  const agent = await startAgent({ config, host, files, credentials, log });
  log('info', 'the agent works', { node: config.node, version: AGENT_VERSION });
  // The script of bootstrap-svc waits for this file.
  void agent.connected.then(() => realHost(root).writeFile(AGENT_PATHS.connected, '', MARK_MODE));
  await endTrial(files, agent.connected, log);
  const signal = await stopped;
  log('info', 'stopping', { signal });
  await agent.stop();
  await journal.settled();
};

const isProgram = (): boolean => {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(import.meta.url));
};

if (isProgram()) {
  main().catch((error: unknown) => {
    makeLog(undefined)('error', 'the agent cannot start', {
      cause: wordsOf(error),
    });
    process.exit(1);
  });
}
