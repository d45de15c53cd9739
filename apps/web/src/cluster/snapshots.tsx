import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api.js';
import { counted, durationText } from '../format.js';
import { useMay } from '../session/session.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { Ago, Button, Empty, Failure, Loading, Panel, State, Table } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

type Snapshot = Schemas['EtcdSnapshot'];
const SNAPSHOTS = '/ns/{namespace}/clusters/{cluster}/etcd/snapshots';
const POLL_MS = 5_000;
const KIB = 1_024;

const sizeText = (bytes: number): string =>
  bytes < KIB * KIB ? `${Math.ceil(bytes / KIB)} KiB` : `${(bytes / KIB / KIB).toFixed(1)} MiB`;

const VERIFICATION: Readonly<Record<Snapshot['verification']['state'], string>> = {
  open: 'running',
  unverified: 'Planned',
  verified: 'verified',
  invalid: 'Failed',
};

/** The snapshots of etcd, how old each is, and whether it was proved by restoring it. */
export const Snapshots = ({ place }: { readonly place: ClusterAt }) => {
  const mayDo = useMay();
  const [act, setAct] = useState<Act | undefined>(undefined);
  const { data, error } = useQuery({
    queryKey: ['cluster', place.namespace, place.cluster, 'snapshots'],
    queryFn: () => dataOf(api.GET(SNAPSHOTS, { params: { path: place } })),
    refetchInterval: POLL_MS,
  });
  const mayAct = mayDo('operator', place.namespace);
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading what="snapshots" />;
  return (
    <Panel
      title="Snapshots of etcd"
      side={mayAct ? <Button onClick={() => setAct(takeOf(place))}>Take a snapshot …</Button> : undefined}
    >
      {data.items.length === 0 ? (
        <Empty title="There are no snapshots of this cluster's etcd." />
      ) : (
        <Table
          label="Snapshots"
          head={[
            'Snapshot',
            'Taken',
            'Proved by restoring',
            'Version',
            'Size',
            'Keys',
            'Of',
            'For',
            ...(mayAct ? ['Actions'] : []),
          ]}
        >
          {data.items.map((snapshot) => (
            <tr key={snapshot.name}>
              <td>{snapshot.name}</td>
              <td className="num" title={`A restore would lose ${durationText(snapshot.ageSeconds * 1_000)}`}>
                <Ago at={snapshot.takenAt} />
              </td>
              <td className="wrap">
                <State state={VERIFICATION[snapshot.verification.state]} word={snapshot.verification.state} />{' '}
                <span className="dim">{snapshot.verification.message}</span>
              </td>
              <td className="num">{snapshot.kubernetesVersion ?? '–'}</td>
              <td className="num">{sizeText(snapshot.bytes)}</td>
              <td className="num">{counted(snapshot.keys, 'key')}</td>
              <td>{snapshot.node}</td>
              <td>{snapshot.upgrade === null ? snapshot.reason : `${snapshot.reason} ${snapshot.upgrade}`}</td>
              {mayAct ? (
                <td className="nowrap">
                  <Button
                    look="quiet"
                    aria-label={`Verify ${snapshot.name}`}
                    onClick={() => setAct(verifyOf(place, snapshot))}
                  >
                    Verify
                  </Button>
                  {snapshot.restorable ? (
                    <Button
                      look="quiet"
                      aria-label={`Restore ${snapshot.name}`}
                      onClick={() => setAct(restoreOf(place, snapshot))}
                    >
                      Restore
                    </Button>
                  ) : null}
                </td>
              ) : null}
            </tr>
          ))}
        </Table>
      )}
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </Panel>
  );
};

const takeOf = (place: ClusterAt): Act => ({
  title: `Take a snapshot of ${place.cluster}?`,
  description: 'etcd is read on one member. The cluster is not affected. Verify the snapshot afterwards.',
  button: 'Take it',
  run: () => dataOf(api.POST(SNAPSHOTS, { params: { path: place } })),
});

const verifyOf = (place: ClusterAt, { name }: Snapshot): Act => ({
  title: `Verify ${name}?`,
  description:
    'It is restored into a scratch etcd on a control plane, read, and deleted. The etcd of the cluster is not affected.',
  button: 'Verify',
  run: () => dataOf(api.POST(`${SNAPSHOTS}/{snapshot}/verify`, { params: { path: { ...place, snapshot: name } } })),
});

const restoreOf = (place: ClusterAt, { name, ageSeconds, kubernetesVersion }: Snapshot): Act => ({
  title: `Restore ${place.cluster} from ${name}?`,
  description: `Everything since is lost: ${durationText(ageSeconds * 1_000)} of workloads, secrets and nodes. The API does not answer meanwhile.`,
  button: 'Restore',
  look: 'danger',
  typed: place.cluster,
  run: () =>
    dataOf(
      api.POST('/ns/{namespace}/clusters/{cluster}/etcd/restore', {
        params: { path: place },
        body: { snapshot: name, confirm: place.cluster, confirmVersion: kubernetesVersion ?? '' },
      }),
    ),
});
