import type { ContainerStatus, Pod } from '../objects/core.types.js';
import { AGE, NAME, text, wide, type Column } from './column.js';

const statusesOf = (pod: Pod): readonly ContainerStatus[] => pod.status?.containerStatuses ?? [];

/** The value of kubectl's STATUS column (pkg/printers/internalversion, printPod). */
const podStatusWord = (pod: Pod): string => {
  if (pod.metadata.deletionTimestamp !== undefined)
    return pod.status?.reason === 'NodeLost' ? 'Unknown' : 'Terminating';
  const troubled = statusesOf(pod)
    .map(({ state }) => state.waiting?.reason ?? state.terminated?.reason)
    .findLast((reason) => reason !== undefined && reason !== '');
  const phase = pod.status?.reason ?? pod.status?.phase ?? 'Unknown';
  return troubled === undefined ? phase : troubled;
};

export const POD_COLUMNS: readonly Column<Pod>[] = [
  NAME,
  text('Ready', (pod) => `${statusesOf(pod).filter(({ ready }) => ready).length}/${pod.spec.containers.length}`),
  text('Status', podStatusWord),
  text('Restarts', (pod) => String(statusesOf(pod).reduce((sum, { restartCount }) => sum + restartCount, 0))),
  AGE,
  wide(text('IP', (pod) => pod.status?.podIP)),
  wide(text('Node', (pod) => pod.spec.nodeName)),
  wide(text('Nominated Node', () => undefined)),
  wide(text('Readiness Gates', () => undefined)),
];
