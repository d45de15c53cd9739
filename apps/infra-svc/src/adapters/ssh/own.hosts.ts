import {
  FIRST_EPOCH,
  HOST_KEY_CHANGED,
  ExternalFailure,
  wordsOf,
  type ConnectionName,
  type HostBaseline,
  type NodeName,
  type OwnHost,
  type SecretRef,
  type SshSettings,
} from '@fairlead/contracts';
import { knownHostKey, sshAddress, type HostKeys, type SshServer } from '@fairlead/domain';
import {
  parseResult,
  PROBES_MAX,
  renderStep,
  underEpoch,
  type LookedAt,
  type LookResult,
  type RenderedStep,
  type StepName,
  type StepResults,
} from '@fairlead/node-scripts';
import { inTime } from '@fairlead/service-kit';
import type { HostAddress, HostSession, HostShell, OpenOptions, SshHop } from '@fairlead/service-kit/ssh';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import type { Stock, Trust } from '../../stock/stock.ports.js';

/** Timeouts and retries for hosts. */
export interface OwnHostsLimits {
  /** For inspections, short because the host may be down. */
  readonly look: Patience;
  /** For resets, longer because the host may be booting. */
  readonly reset: Patience;
  /** For resets after a power cycle: a server may test its hardware for minutes before it boots. */
  readonly boot: Patience;
  /** How often an incomplete reset is repeated. */
  readonly resetsMax: number;
  /** How long an inspection result is cached. */
  readonly freshForMs: number;
}

export const PATIENCE: OwnHostsLimits = {
  look: { triesMax: 2, deadlineMs: 10_000 },
  reset: { triesMax: 6, deadlineMs: 60_000 },
  boot: { triesMax: 100, deadlineMs: 5 * 60_000 },
  resetsMax: 2,
  freshForMs: 5_000,
};

const OPERATIONS = { look: 'look at the host', 'kubeadm-reset': 'reset the host' } as const;
const NO_FILES =
  'file transfer (SFTP) does not work: the SSH server needs "Subsystem sftp internal-sftp", and files like .bashrc must print nothing without a terminal';
const NO_RESULT =
  'the login does not run commands (a forced command, a shell without login, or a program in a profile?); it printed';
/** Maximum length of login output in a message. */
const PRINTED_MAX = 200;

/** Output of OpenSSH and login shells, and the remedy for each. */
const LOGIN_HINTS: readonly (readonly [RegExp, string])[] = [
  [/currently not available|nologin/i, 'its user has no shell: usermod -s /bin/sh <user>'],
  [/channel open failure|open failed/i, 'MaxSessions of its SSH server must be 2 or more'],
  [/read-only file system/i, 'mount it with rw'],
  [/no space left on device/i, 'its disk is full'],
];

const wordsOfLogin = (words: string): string => {
  const hint = LOGIN_HINTS.find(([pattern]) => pattern.test(words))?.[1];
  return hint === undefined ? words : `${words}: ${hint}`;
};

type OwnStep = keyof typeof OPERATIONS & StepName;
type Patience = Pick<OpenOptions, 'triesMax' | 'deadlineMs'>;

/** Who used a host, and its state before. */
export interface Used {
  readonly of: string;
  /** null: it was allocated before baselines existed. */
  readonly baseline: HostBaseline | null;
  /** Whether the runtime at the agent's own path belongs to the host. */
  readonly keepRuntime: boolean;
}

const serverOf = ({ name, address, port }: OwnHost): SshServer => ({
  host: name,
  address: sshAddress({ address, port }),
});

/** The result of an inspection, or why it failed. */
export type Found =
  | { readonly kind: 'found'; readonly look: LookResult; readonly lookedAt: LookedAt; readonly hostKey: string }
  | { readonly kind: 'silent'; readonly words: string; readonly check: 'ssh' | 'hostKey' };

/** Timeout for the first file: a login that prints something makes file transfers hang silently. */
const FILES_TIMEOUT_MS = 8_000;

/** The connection, and the settings that all of its hosts share. */
interface Place extends Pick<SshSettings, 'jump'> {
  readonly connection: ConnectionName;
  readonly keyRef: SecretRef | null;
}

export interface OwnHostsWorld {
  readonly shell: HostShell;
  readonly keys: (ref: SecretRef) => Promise<string | undefined>;
  readonly trust: Pick<Trust, 'hostKeys'>;
  readonly stock: Pick<Stock, 'pin'>;
  /** Milliseconds since 1970; absent: the clock of this machine. */
  readonly now?: () => number;
  /** The epoch of this installation; absent: the first. */
  readonly epoch?: () => number;
}

/** Access to the hosts of an inventory: connects to them, inspects and resets them. */
export class OwnHosts {
  private readonly found: LRUCache<string, Found>;

  constructor(
    private readonly at: Place,
    private readonly world: OwnHostsWorld,
    private readonly limits: OwnHostsLimits,
  ) {
    this.found = new LRUCache({ max: 2_000, ttl: limits.freshForMs });
  }

  /** Clears the cache, so that the next inspection is a new one. */
  forget(): void {
    this.found.clear();
  }

  /** Inspects a host, with a result that is a few seconds old at most. A host that does not respond is a result too. */
  async look(host: OwnHost, signal: AbortSignal): Promise<Found> {
    signal.throwIfAborted();
    const keys = await this.world.trust.hostKeys();
    const key = JSON.stringify([host, this.keyOf(keys, host), this.jumpKey(keys)]);
    const known = this.found.get(key);
    if (known !== undefined) return known;
    const found = await this.lookNow(host, signal);
    this.found.set(key, found);
    return found;
  }

  /**
   * Resolves once the host is wiped: nothing of that incarnation (`of`) remains, and the rest matches the baseline.
   * Rejects with a ExternalFailure that lists what remains.
   */
  async reset(host: OwnHost, used: Used, signal: AbortSignal, patience: 'reset' | 'boot' = 'reset'): Promise<void> {
    this.forget();
    const { of, ...wipe } = used;
    const rendered = renderStep('kubeadm-reset', { removeAgent: true, of, wipe });
    for (let attempt = 1; ; attempt += 1) {
      const { left } = await this.run(host, rendered, this.limits[patience], signal);
      if (left.length === 0) return;
      if (attempt < this.limits.resetsMax) continue;
      throw new ExternalFailure({
        operation: OPERATIONS['kubeadm-reset'],
        target: host.name,
        message: left.join('; '),
      });
    }
  }

  /** Settings take precedence over accepted keys, and those over pinned ones; null: no key is known. */
  keyOf(keys: HostKeys, host: OwnHost): string | null {
    return host.hostKey ?? this.known(keys, serverOf(host));
  }

  jumpKey(keys: HostKeys): string | null {
    const { jump } = this.at;
    if (jump === undefined || this.jumpServer === undefined) return null;
    return jump.hostKey ?? this.known(keys, this.jumpServer);
  }

  /** Returns the addresses that respond, as seen from the host. Rejects with ExternalFailure. */
  async answering(host: OwnHost, addresses: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const probe = addresses.slice(0, PROBES_MAX);
    return (await this.run(host, renderStep('look', { probe }), this.limits.look, signal)).facts.answering;
  }

  private async lookNow(host: OwnHost, signal: AbortSignal): Promise<Found> {
    try {
      // A file is requested first; the inspection then checks whether the host allows two sessions on one connection.
      const hostKey = await this.transfersFiles(host, signal).catch((error: unknown) =>
        this.commandsFirst(host, error, signal),
      );
      const sentMs = this.now();
      const look = await this.run(host, renderStep('look', {}), this.limits.look, signal);
      return { kind: 'found', look, lookedAt: { sentMs, answeredMs: this.now() }, hostKey };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      const check = error.reason === HOST_KEY_CHANGED ? 'hostKey' : 'ssh';
      return { kind: 'silent', words: wordsOfLogin(error.message), check };
    }
  }

  /**
   * If commands fail too, e.g. because of a forced command, that is the reported reason instead of the missing file
   * server. Always rejects.
   */
  private async commandsFirst(host: OwnHost, error: unknown, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    if (error instanceof ExternalFailure && error.message.startsWith(NO_FILES))
      await this.run(host, renderStep('look', {}), this.limits.look, signal);
    throw error;
  }

  /** Returns the presented host key. */
  private transfersFiles(host: OwnHost, signal: AbortSignal): Promise<string> {
    return this.onSession(host, this.limits.look, signal, async (session) => {
      const failure = (words: string): ExternalFailure =>
        new ExternalFailure({ operation: OPERATIONS.look, target: host.name, message: `${NO_FILES} (${words})` });
      return inTime(FILES_TIMEOUT_MS, async (late) => {
        try {
          await session.exists('/', AbortSignal.any([signal, late]));
          return session.hostKey;
        } catch (error) {
          throw failure(late.aborted ? `no answer for ${FILES_TIMEOUT_MS / 1_000} s` : wordsOf(error));
        }
      });
    });
  }

  private get now(): () => number {
    return this.world.now ?? Date.now;
  }

  private run<Step extends OwnStep>(
    host: OwnHost,
    rendered: RenderedStep<Step>,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<StepResults[Step]> {
    const epoch = this.world.epoch?.() ?? FIRST_EPOCH;
    const { step, script, input, result, limitMs } = underEpoch(rendered, epoch);
    const operation = OPERATIONS[step];
    return this.onSession(host, patience, signal, async (session) => {
      const name = `${step}-${randomUUID().replaceAll('-', '').slice(0, 12)}`;
      const { stdout } = await session.run({ name, operation, text: script, input, limitMs }, signal);
      const parsed = result.safeParse(parseResult(stdout));
      if (parsed.success) return parsed.data;
      const message = `${NO_RESULT}: ${stdout.trim().slice(0, PRINTED_MAX) || 'nothing'}`;
      throw new ExternalFailure({ operation, target: host.name, message });
    });
  }

  /** A connection kept from an earlier step may be dead: it is reopened once. */
  private async onSession<T>(
    host: OwnHost,
    patience: Patience,
    signal: AbortSignal,
    work: (session: HostSession) => Promise<T>,
  ): Promise<T> {
    for (let first = true; ; first = false) {
      const session = await this.open(host, { ...patience, signal });
      const mayBeStale = first && session.attempts === 0;
      try {
        return await work(session);
      } catch (error) {
        signal.throwIfAborted();
        if (!mayBeStale || !(error instanceof ExternalFailure)) throw error;
      } finally {
        session.release();
      }
    }
  }

  /** The first key that a server presents is pinned before anything else is sent to it. */
  private async open(host: OwnHost, options: OpenOptions): Promise<HostSession> {
    const address = await this.addressOf(host);
    const session = await this.world.shell.open(address, options);
    const { hostKey, jumpHostKey } = session;
    try {
      if (address.hostKey === null) await this.pin(host.name, serverOf(host), hostKey);
      const jump = this.jumpServer;
      if (jump !== undefined && address.jump?.hostKey === null && jumpHostKey !== null)
        await this.pin(host.name, jump, jumpHostKey);
    } catch (error) {
      session.release();
      throw error;
    }
    return session;
  }

  private async pin(target: NodeName, server: SshServer, seen: string): Promise<void> {
    const { connection } = this.at;
    const pinned = await this.world.stock.pin({ connection, ...server, hostKey: seen });
    if (pinned === seen) return;
    const message = `${server.host ?? 'the jump host'} at ${server.address} shows the key ${seen}, and ${pinned} was pinned meanwhile`;
    throw new ExternalFailure({ operation: 'open SSH', target, message, retryable: false, reason: HOST_KEY_CHANGED });
  }

  private async addressOf(host: OwnHost): Promise<HostAddress> {
    const { jump } = this.at;
    const keys = await this.world.trust.hostKeys();
    const hop = await this.hopOf(host.name, host);
    const address = { name: host.name, ...hop, hostKey: this.keyOf(keys, host) };
    if (jump === undefined) return address;
    return { ...address, jump: { ...(await this.hopOf(host.name, jump)), hostKey: this.jumpKey(keys) } };
  }

  private known(keys: HostKeys, server: SshServer): string | null {
    return knownHostKey(keys, this.at.connection, server)?.fingerprint ?? null;
  }

  private get jumpServer(): SshServer | undefined {
    const { jump } = this.at;
    return jump === undefined ? undefined : { host: null, address: sshAddress(jump) };
  }

  private async hopOf(
    target: NodeName,
    { address, port, user, hostKey, keyRef }: Pick<OwnHost, 'address' | 'port' | 'user' | 'hostKey' | 'keyRef'>,
  ): Promise<SshHop> {
    const ref = keyRef ?? this.at.keyRef;
    const privateKey = ref === null ? undefined : await this.world.keys(ref);
    if (privateKey !== undefined) return { host: address, port, user, hostKey: hostKey ?? null, privateKey };
    throw new ExternalFailure({
      operation: 'open SSH',
      target,
      message: `there is no key behind ${ref}`,
      retryable: false,
    });
  }
}
