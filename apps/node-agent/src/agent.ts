import type { AgentConfig } from '@fairlead/contracts';
import { httpAsk } from './adapters/host/http.ask.js';
import { KubernetesNodeWatch } from './adapters/kubernetes/node.watch.js';
import { NatsLog } from './adapters/nats/nats.log.js';
import { AgentLoop } from './agent/agent.effects.js';
import type { AgentClock, AgentLog, EventLog, HostPort } from './agent/agent.ports.js';
import type { Ask } from './change/change.ports.js';
import type { HostFiles } from './files/files.ports.js';
import { hostSoftware } from './software/host.software.js';
import { newState } from './agent/agent.state.js';
import { Journal } from './agent/journal.js';
import { loadState } from './agent/state.store.js';
import { sharedMetronome, type Metronome } from './time/metronome.js';

/** Without local state the log is asked what the node said last; a log that is away does not keep it from working. */
const RECOVERY_WAIT_MS = 3_000;

export interface AgentOptions {
  readonly config: AgentConfig;
  readonly host: HostPort;
  /** Needed where the profile says that software comes as files. */
  readonly files?: HostFiles;
  /** Text of a NATS creds file; empty: the server asks for none. */
  readonly credentials: string;
  readonly clock?: AgentClock;
  /** In [0, 1); spreads heartbeats and retries. */
  readonly random?: () => number;
  readonly log?: AgentLog;
  /** How probes and the node's own programs are asked; by HTTP, unless a spec knows better. */
  readonly ask?: Ask;
}

export interface RunningAgent {
  /** Resolves when the event log has answered for the first time. */
  readonly connected: Promise<void>;
  /** Ends the work in hand and the connections; what is not in the log yet stays in the local state. */
  stop(): Promise<void>;
}

const recoverWithin = (journal: Journal, events: EventLog, metronome: Metronome, log: AgentLog): Promise<void> =>
  new Promise((resolve) => {
    let isOver = false;
    const over = (): void => {
      isOver = true;
      cancel();
      resolve();
    };
    const cancel = metronome.after(RECOVERY_WAIT_MS, () => {
      log('warn', 'the log is away, so the node starts as if it had said nothing');
      over();
    });
    events.onConnected(() => {
      if (isOver) return;
      journal.recover().then(over, (error: unknown) => log('warn', 'recovery failed', { cause: String(error) }));
    });
  });

/**
 * Starts the agent of one node and resolves when it works; its outcome is in the event log. Many may run in one process:
 * they share one timer. Rejects only when the host's own state cannot be read.
 */
export const startAgent = async (options: AgentOptions): Promise<RunningAgent> => {
  const { config, host, files, credentials } = options;
  const { clock = { now: () => new Date() }, random = Math.random, log = () => undefined } = options;
  const metronome = sharedMetronome;
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const software = hostSoftware({ config, host, files, architecture, log });
  const saved = await loadState(host, config.uid, log);
  const events = new NatsLog({
    servers: config.natsUrls,
    ca: config.natsCa,
    credentials,
    inboxPrefix: config.inboxPrefix,
    name: `agent ${config.namespace}/${config.cluster}/${config.node}`,
    random,
    log,
  });
  const onDrained = (): void => loop.wake();
  const journal = new Journal(saved ?? newState(config.uid), {
    config,
    host,
    events,
    metronome,
    clock,
    random,
    log,
    onDrained,
  });
  const loop = new AgentLoop({
    config,
    host,
    software,
    events,
    journal,
    ask: options.ask ?? httpAsk,
    removeFile: files && ((path) => files.remove(path)),
    watchNode: (listener) => new KubernetesNodeWatch({ node: config.node, host, metronome, random, log }, listener),
    metronome,
    clock,
    random,
    log,
  });
  if (saved === undefined) await recoverWithin(journal, events, metronome, log);
  await loop.start();
  return {
    connected: new Promise((resolve) => events.onConnected(resolve)),
    stop: async () => {
      await loop.stop();
      await journal.close();
      await events.close();
    },
  };
};
