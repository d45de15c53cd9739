import { useState } from 'react';
import type { Cluster, Schemas } from '../api.js';
import { PlanSteps } from '../create/plan.steps.js';
import { useMay } from '../session/session.js';
import { Modal } from '../ui/dialog.js';
import { Button, Empty, Failure, Loading, Panel, State, Table } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';
import { useManifest } from './cluster.reads.js';
import { useScale } from './scale.js';

type Manifest = Schemas['ClusterManifestView'];

/** Pools with their counters; scaling shows its plan first. */
export const Pools = ({ place }: { readonly place: ClusterAt }) => {
  const { data, error } = useManifest(place);
  const mayDo = useMay();
  const [scaled, setScaled] = useState<{ pool: string; replicas: number } | undefined>(undefined);
  if (error !== null) return null; // A cluster that is not accepted yet has no manifest; its conditions say so.
  if (data === undefined) return <Loading what="the pools" />;
  const statusOf = (pool: string) => data.status?.pools.find(({ name }) => name === pool);
  const mayScale = mayDo('operator', place.namespace);
  if (data.spec.pools.length === 0) return <Empty title="It declares no pools." />;
  return (
    <Panel title="Pools">
      <Table label="Pools" head={['Pool', 'Declared', 'Ready', 'Updated', 'Machine', ...(mayScale ? ['Scale'] : [])]}>
        {data.spec.pools.map(({ name, replicas, machineType }) => {
          const status = statusOf(name);
          return (
            <tr key={name}>
              <td>
                <strong>{name}</strong>
              </td>
              <td className="num">{replicas}</td>
              <td className="num">{status?.readyReplicas ?? '–'}</td>
              <td className="num">{status?.updatedReplicas ?? '–'}</td>
              <td>{machineType}</td>
              {mayScale ? (
                <td className="nowrap">
                  <Button
                    aria-label={`Fewer in ${name}`}
                    disabled={replicas === 0}
                    onClick={() => setScaled({ pool: name, replicas: replicas - 1 })}
                  >
                    −
                  </Button>{' '}
                  <Button
                    aria-label={`More in ${name}`}
                    onClick={() => setScaled({ pool: name, replicas: replicas + 1 })}
                  >
                    +
                  </Button>
                </td>
              ) : null}
            </tr>
          );
        })}
      </Table>
      {scaled === undefined ? null : (
        <ScaleDialog
          place={place}
          {...scaled}
          onChange={(replicas) => setScaled({ ...scaled, replicas })}
          onClose={() => setScaled(undefined)}
        />
      )}
    </Panel>
  );
};

const ScaleDialog = ({
  place,
  pool,
  replicas,
  onChange,
  onClose,
}: {
  readonly place: ClusterAt;
  readonly pool: string;
  readonly replicas: number;
  readonly onChange: (replicas: number) => void;
  readonly onClose: () => void;
}) => {
  const { plan, apply } = useScale(place, pool, replicas, onClose);
  return (
    <Modal
      title={`Scale ${pool}`}
      open
      onClose={onClose}
      description="What the change would do is shown before it is made."
    >
      <label className="field">
        Machines
        <input
          type="number"
          min={0}
          max={500}
          value={replicas}
          onChange={(event) => onChange(Math.max(0, Number(event.target.value)))}
        />
      </label>
      <Failure error={plan.error ?? apply.error} />
      {plan.data === undefined ? (
        plan.error === null ? (
          <Loading what="the plan" />
        ) : null
      ) : (
        <PlanSteps steps={plan.data.plan ?? []} warnings={plan.data.warnings ?? []} />
      )}
      <div className="buttons">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          disabled={plan.data === undefined || (plan.data.plan ?? []).length === 0 || apply.isPending}
          onClick={() => apply.mutate()}
        >
          {apply.isPending ? 'Sending …' : `Scale to ${replicas}`}
        </Button>
      </div>
    </Modal>
  );
};

/** What is declared, what was decided of it, and what agents report. */
export const Drift = ({ place, view }: { readonly place: ClusterAt; readonly view: Cluster }) => {
  const { data } = useManifest(place);
  if (data === undefined) return null;
  const rows = driftOf(data, view);
  return (
    <Panel title="Declared, decided, observed">
      <Table label="Drift" head={['What', 'Declared', 'Decided', 'Observed', '']}>
        {rows.map(({ what, declared, decided, observed }) => (
          <tr key={what}>
            <td>{what}</td>
            <td className="num">{declared}</td>
            <td className="num">{decided}</td>
            <td className="num">{observed}</td>
            <td>
              {declared === observed && decided === declared ? (
                <State state="done" word="same" />
              ) : (
                <State state="running" word="differs" />
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
};

const versionsOf = (nodes: Cluster['nodes']): string => {
  const versions = [
    ...new Set(nodes.map(({ software }) => software['kubelet']?.replace(/^v?/, 'v') ?? '–')),
  ].toSorted();
  return versions.join(', ');
};

const driftOf = ({ spec, status }: Manifest, view: Cluster) => {
  const ofPool = (pool: string) => view.nodes.filter((node) => node.role === 'worker' && node.pool === pool);
  const controlPlanes = view.nodes.filter(({ role }) => role === 'control-plane');
  const version = spec.version.replace(/^v?/, 'v');
  return [
    {
      what: 'Version, control plane',
      declared: version,
      decided: view.k8sVersion.replace(/^v?/, 'v'),
      observed: versionsOf(controlPlanes),
    },
    {
      what: 'Control planes',
      declared: String(spec.controlPlane.replicas),
      decided: String(controlPlanes.length),
      observed: String(status?.controlPlane.readyReplicas ?? 0),
    },
    ...spec.pools.map(({ name, replicas }) => ({
      what: `Pool ${name}`,
      declared: String(replicas),
      decided: String(ofPool(name).length),
      observed: String(ofPool(name).filter(({ ready }) => ready).length),
    })),
    ...spec.pools
      .filter(({ name }) => ofPool(name).length > 0)
      .map(({ name }) => ({
        what: `Version, pool ${name}`,
        declared: version,
        decided: version,
        observed: versionsOf(ofPool(name)),
      })),
  ];
};
