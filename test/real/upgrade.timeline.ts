import type { StoredEvent } from '@fairlead/contracts';

const secondsOf = (event: StoredEvent, begun: number): string =>
  ((Date.parse(event.meta.time) - begun) / 1_000).toFixed(1).padStart(7);

/** The steps of a node, by its events. */
const wordsOf = (event: StoredEvent): string | undefined => {
  switch (event.type) {
    case 'OperationStarted':
      return `${event.data.operation} begins${event.data.node === null ? '' : ` on ${event.data.node}`}`;
    case 'UpgradeAllowed':
      return `  ${event.data.node}: gates before hold`;
    case 'NodeEmptied':
      return `  ${event.data.node}: empty`;
    case 'NodeChangeProgressed': {
      const { node, phase, status, tookMs } = event.data;
      return status === 'started'
        ? undefined
        : `  ${node}: ${phase} ${status} after ${((tookMs ?? 0) / 1_000).toFixed(1)} s`;
    }
    case 'NodeReady':
      return `  ${event.data.node}: Ready`;
    case 'UpgradeWithdrawn':
      return `  ${event.data.node}: gates after hold, takes pods again`;
    case 'OperationFailed':
      return `  ${event.data.operation} failed: ${event.data.cause.message}`;
    case 'ProbeFailed':
    case 'ProbeRecovered':
      return `  ${event.type} ${event.data.probe} from ${event.data.node}`;
    case 'RolloutPaused':
      return `paused by ${event.data.by}: ${event.data.reason}`;
    case 'RolloutHalted':
      return `halted by ${event.data.rule}: ${event.data.cause.message}`;
    case 'OperationCompleted':
    case 'UpgradePlanned':
    case 'RolloutStarted':
    case 'RolloutResumed':
    case 'RolloutCompleted':
      return 'operation' in event.data ? `${event.data.operation} is done` : event.type;
    default:
      return undefined;
  }
};

/** Seconds after the request, and the event. */
export const timelineOf = (events: readonly StoredEvent[]): string => {
  const begun = Date.parse(events[0]?.meta.time ?? '');
  return events
    .flatMap((event) => {
      const words = wordsOf(event);
      return words === undefined ? [] : [`${secondsOf(event, begun)} s  ${words}`];
    })
    .join('\n');
};
