import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { deadlineAfter } from '@fairlead/service-kit';
import type { InfrastructureProvider, MachineAnswer, ProviderOperation } from '../providers/provider.ports.js';

const MINUTE_MS = 60_000;

/** Shorter than the timeout of the calling task, so that the failure names the call and not the task. */
const CALL_LIMIT_MS = 110_000;
/** Long, because hosts are reset before they are released. */
const DELETION_LIMIT_MS = 9 * MINUTE_MS;
const RECOVERY_LIMIT_MS = 14 * MINUTE_MS;

interface Aborted {
  /** Rejects with the signal's reason when it aborts. */
  readonly rejection: Promise<never>;
  /**
   * Removes the listener: otherwise Node.js keeps a combined signal and its listeners for the lifetime of the process.
   */
  readonly ignore: () => void;
}

const abortedBy = (signal: AbortSignal): Aborted => {
  let end = (): void => undefined;
  const rejection = new Promise<never>((_resolve, reject) => {
    end = () => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
  rejection.catch(() => undefined); // Handled wherever this promise is raced.
  return { rejection, ignore: () => signal.removeEventListener('abort', end) };
};

const inWords = (ms: number): string => (ms < 2 * MINUTE_MS ? `${ms / 1_000} s` : `${ms / MINUTE_MS} min`);

type Call<Result> = (signal: AbortSignal) => Promise<Result>;

type Limited = <Result>(
  operation: ProviderOperation,
  signal: AbortSignal,
  call: Call<Result>,
  limitMs?: number,
) => Promise<Result>;

const isTimeout = ({ reason }: AbortSignal): boolean =>
  reason instanceof DOMException && reason.name === 'TimeoutError';

const limitedFor =
  (target: string): Limited =>
  async (operation, signal, call, limitMs = CALL_LIMIT_MS) => {
    const late = deadlineAfter(limitMs);
    const either = AbortSignal.any([signal, late.signal]);
    const aborted = abortedBy(either);
    try {
      return await Promise.race([call(either), aborted.rejection]);
    } catch (error) {
      if (!isTimeout(either) || error instanceof ExternalFailure) throw error;
      const message = late.signal.aborted ? `no answer within ${inWords(limitMs)}` : wordsOf(either.reason);
      throw new ExternalFailure({ operation, target, message, cause: error });
    } finally {
      aborted.ignore();
      late.clear();
    }
  };

/** Yields machines until the signal aborts, even if the provider ignores it. */
const answersUntil = async function* (
  answers: AsyncIterable<MachineAnswer>,
  signal: AbortSignal,
): AsyncIterable<MachineAnswer> {
  const iterator = answers[Symbol.asyncIterator]();
  const aborted = abortedBy(signal);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.rejection]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    aborted.ignore();
    // Not awaited, because a hanging iterator would never return.
    void iterator.return?.().catch(() => undefined);
  }
};

/**
 * Wraps a provider so that every call ends within its time limit, even if the provider ignores its signal: a hanging
 * call becomes a failure with its operation and connection. Only `ensureMachines` is bounded by the deadline in its
 * signal instead.
 */
export const limitedProvider = (provider: InfrastructureProvider, target: string): InfrastructureProvider => {
  const ended = limitedFor(target);
  const { checkCapacity, recover, accept, reservations, power } = provider;
  return {
    verify: (signal) => ended('verify connection', signal, (late) => provider.verify(late)),
    listSpecs: (signal) => ended('list specs', signal, (late) => provider.listSpecs(late)),
    resolveRegion: (region, signal) => ended('resolve region', signal, (late) => provider.resolveRegion(region, late)),
    resolveSpec: (name, signal) => ended('resolve spec', signal, (late) => provider.resolveSpec(name, late)),
    resolveImage: (signal) => ended('resolve image', signal, (late) => provider.resolveImage(late)),
    ensureNetwork: (desired, signal) =>
      ended('ensure network', signal, (late) => provider.ensureNetwork(desired, late)),
    ensureFirewall: (desired, signal) =>
      ended('ensure firewall', signal, (late) => provider.ensureFirewall(desired, late)),
    ensureSshKey: (desired, signal) => ended('ensure SSH key', signal, (late) => provider.ensureSshKey(desired, late)),
    deleteSshKey: (name, signal) => ended('delete SSH key', signal, (late) => provider.deleteSshKey(name, late)),
    ensureMachines: (group, signal) => answersUntil(provider.ensureMachines(group, signal), signal),
    describeMachines: (group, signal) =>
      ended('describe machines', signal, (late) => provider.describeMachines(group, late)),
    listMachines: (signal) => ended('list machines', signal, (late) => provider.listMachines(late)),
    deleteMachine: (id, signal) =>
      ended('delete machine', signal, (late) => provider.deleteMachine(id, late), DELETION_LIMIT_MS),
    deleteGroup: (group, signal) =>
      ended('delete machines', signal, (late) => provider.deleteGroup(group, late), DELETION_LIMIT_MS),
    ensureLoadBalancer: (desired, signal) =>
      ended('ensure load balancer', signal, (late) => provider.ensureLoadBalancer(desired, late)),
    deleteLoadBalancer: (name, signal) =>
      ended('delete load balancer', signal, (late) => provider.deleteLoadBalancer(name, late)),
    ...(checkCapacity && {
      checkCapacity: (request, signal) =>
        ended('verify connection', signal, (late) => checkCapacity.call(provider, request, late)),
    }),
    ...(recover && {
      recover: (signal) =>
        ended('verify connection', signal, (late) => recover.call(provider, late), RECOVERY_LIMIT_MS),
    }),
    ...(reservations && {
      reservations: {
        ensure: (desired, signal) => ended('reserve machines', signal, (late) => reservations.ensure(desired, late)),
        describe: (name, signal) => ended('reserve machines', signal, (late) => reservations.describe(name, late)),
        release: (name, signal) => ended('release reservation', signal, (late) => reservations.release(name, late)),
      },
    }),
    ...(power && {
      power: {
        act: (host, action, signal) => ended('control power', signal, (late) => power.act(host, action, late)),
        cycleMachine: (id, signal) => ended('control power', signal, (late) => power.cycleMachine(id, late)),
      },
    }),
    // Not limited, because it only reads the log.
    ...(accept && { accept: (host, asOf) => accept.call(provider, host, asOf) }),
  };
};
