import type {
  ClusterEvent,
  ConfigMap,
  Endpoints,
  Lease,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Secret,
  Service,
  ServiceAccount,
  StorageClass,
} from '../objects/core.types.js';
import { isJsonArray, valueAt } from '../objects/json.js';
import { selectorText } from '../objects/label.selector.js';
import { ageSince } from './age.js';
import { AGE, count, NAME, text, wide, type Column } from './column.js';

export const NAMESPACE_COLUMNS: readonly Column<Namespace>[] = [
  NAME,
  text('Status', ({ status }) => status?.phase),
  AGE,
];

const portText = ({ spec }: Service): string | undefined => {
  const ports = (spec.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort === undefined || nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
  );
  return ports.length === 0 ? undefined : ports.join(',');
};

const externalAddress = ({ spec, status }: Service): string | undefined => {
  if (spec.type === 'ExternalName') return spec.externalName;
  if (spec.type !== 'LoadBalancer') return undefined;
  const ingress = valueAt(status, 'loadBalancer.ingress');
  const addresses = isJsonArray(ingress) ? ingress.map((item) => valueAt(item, 'ip') ?? valueAt(item, 'hostname')) : [];
  return addresses.length === 0 ? '<pending>' : addresses.join(',');
};

export const SERVICE_COLUMNS: readonly Column<Service>[] = [
  NAME,
  text('Type', ({ spec }) => spec.type),
  text('Cluster-IP', ({ spec }) => spec.clusterIP),
  text('External-IP', externalAddress),
  text('Port(s)', portText),
  AGE,
  wide(
    text('Selector', ({ spec }) =>
      spec.selector === undefined ? undefined : selectorText({ matchLabels: spec.selector }),
    ),
  ),
];

/** kubectl shows three addresses and counts the rest. */
const ENDPOINTS_SHOWN_MAX = 3;

const endpointText = ({ subsets }: Endpoints): string | undefined => {
  const all = (subsets ?? []).flatMap((subset) => {
    const [addresses, ports] = [valueAt(subset, 'addresses'), valueAt(subset, 'ports')];
    if (!isJsonArray(addresses)) return [];
    return addresses.flatMap((address) =>
      (isJsonArray(ports) ? ports : []).map(
        (port) => `${String(valueAt(address, 'ip'))}:${String(valueAt(port, 'port'))}`,
      ),
    );
  });
  if (all.length === 0) return undefined;
  const shown = all.slice(0, ENDPOINTS_SHOWN_MAX).join(',');
  return all.length > ENDPOINTS_SHOWN_MAX ? `${shown} + ${all.length - ENDPOINTS_SHOWN_MAX} more...` : shown;
};

export const ENDPOINTS_COLUMNS: readonly Column<Endpoints>[] = [NAME, text('Endpoints', endpointText), AGE];

export const CONFIG_MAP_COLUMNS: readonly Column<ConfigMap>[] = [
  NAME,
  count('Data', ({ data }) => Object.keys(data ?? {}).length),
  AGE,
];

export const SECRET_COLUMNS: readonly Column<Secret>[] = [
  NAME,
  text('Type', ({ type }) => type),
  count('Data', ({ data }) => Object.keys(data ?? {}).length),
  AGE,
];

export const SERVICE_ACCOUNT_COLUMNS: readonly Column<ServiceAccount>[] = [
  NAME,
  count('Secrets', ({ secrets }) => secrets?.length),
  AGE,
];

const involved = (event: ClusterEvent): string =>
  `${String(valueAt(event.involvedObject, 'kind')).toLowerCase()}/${String(valueAt(event.involvedObject, 'name'))}`;

export const EVENT_COLUMNS: readonly Column<ClusterEvent>[] = [
  text('Last Seen', (event, nowMs) => ageSince(event.lastTimestamp ?? event.metadata.creationTimestamp, nowMs)),
  text('Type', ({ type }) => type),
  text('Reason', ({ reason }) => reason),
  text('Object', involved),
  text('Message', ({ message }) => message?.trim()),
  wide(count('Count', (event) => event.count)),
  wide(NAME),
];

export const LEASE_COLUMNS: readonly Column<Lease>[] = [NAME, text('Holder', ({ spec }) => spec.holderIdentity), AGE];

const limit = (value: number | string | undefined): string => (value === undefined ? 'N/A' : String(value));

export const BUDGET_COLUMNS: readonly Column<PodDisruptionBudget>[] = [
  NAME,
  text('Min Available', ({ spec }) => limit(spec.minAvailable)),
  text('Max Unavailable', ({ spec }) => limit(spec.maxUnavailable)),
  count('Allowed Disruptions', ({ status }) => status?.disruptionsAllowed),
  AGE,
];

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

const modesText = (modes: readonly string[] | undefined): string =>
  (modes ?? []).map((mode) => MODES[mode] ?? mode).join(',');

export const CLAIM_COLUMNS: readonly Column<PersistentVolumeClaim>[] = [
  NAME,
  text('Status', ({ status }) => status?.phase),
  text('Volume', ({ spec }) => spec.volumeName ?? ''),
  text('Capacity', ({ spec, status }) =>
    status?.phase === 'Bound' ? String(spec.resources?.requests?.['storage'] ?? '') : '',
  ),
  text('Access Modes', ({ spec, status }) => (status?.phase === 'Bound' ? modesText(spec.accessModes) : '')),
  text('StorageClass', ({ spec }) => spec.storageClassName ?? ''),
  AGE,
];

export const VOLUME_COLUMNS: readonly Column<PersistentVolume>[] = [
  NAME,
  text('Capacity', ({ spec }) => String(spec.capacity?.['storage'] ?? '')),
  text('Access Modes', ({ spec }) => modesText(spec.accessModes)),
  text('Reclaim Policy', ({ spec }) => spec.persistentVolumeReclaimPolicy),
  text('Status', ({ status }) => status?.phase),
  text('Claim', ({ spec }) => (spec.claimRef === undefined ? '' : `${spec.claimRef.namespace}/${spec.claimRef.name}`)),
  text('StorageClass', ({ spec }) => spec.storageClassName ?? ''),
  AGE,
];

export const STORAGE_CLASS_COLUMNS: readonly Column<StorageClass>[] = [
  NAME,
  text('Provisioner', ({ provisioner }) => provisioner),
  text('ReclaimPolicy', ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete'),
  text('VolumeBindingMode', ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate'),
  AGE,
];
