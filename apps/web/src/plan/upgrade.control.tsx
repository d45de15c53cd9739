import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Operation, type Upgrade } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { actorText, durationText } from '../format.js';
import { useMay } from '../session/session.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { OVERRIDABLE } from './overrides.js';
import { Ago, Button, clusterPath, Icon, Link, Panel, State, Table } from '../ui/ui.js';

const UPGRADE = '/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}';

export const useUpgrade = ({ namespace, cluster }: ClusterAt, upgrade: string | undefined) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'upgrade', upgrade],
    enabled: upgrade !== undefined,
    queryFn: () => dataOf(api.GET(UPGRADE, { params: { path: { namespace, cluster, upgrade: upgrade ?? '' } } })),
    refetchInterval: 3_000,
  });

const SAME_MS = 2_000;

/** The upgrade of an operation: requested at the same moment. */
export const UpgradeControl = ({ place, operation }: { readonly place: ClusterAt; readonly operation: Operation }) => {
  const upgrades = useQuery({
    queryKey: ['cluster', place.namespace, place.cluster, 'upgrades'],
    queryFn: () => dataOf(api.GET('/ns/{namespace}/clusters/{cluster}/upgrades', { params: { path: place } })),
  });
  const id = upgrades.data?.items
    .filter(({ mode }) => mode !== 'dry-run')
    .find(({ requestedAt }) => Math.abs(Date.parse(requestedAt) - Date.parse(operation.startedAt)) < SAME_MS)?.id;
  const { data } = useUpgrade(place, id);
  return data === undefined ? null : <UpgradeProgress place={place} upgrade={data} />;
};

export const UpgradeProgress = ({ place, upgrade }: { readonly place: ClusterAt; readonly upgrade: Upgrade }) => (
  <Panel
    title={
      <>
        Upgrade {upgrade.id} <State state={upgrade.phase} />
      </>
    }
    side={<Steering place={place} upgrade={upgrade} />}
  >
    {upgrade.message === '' ? null : <p className="sentence">{upgrade.message}</p>}
    {upgrade.overrides.length === 0 ? null : (
      <ul className="dim">
        {upgrade.overrides.map(({ rule, reason, actor }) => (
          <li key={rule}>
            {rule} is overridden by {actorText(actor)}: {reason}
          </li>
        ))}
      </ul>
    )}
    <p className="dim num">
      {upgrade.nodesDone}/{upgrade.nodesTotal} nodes
      {upgrade.elapsedMs === null ? '' : `, ${durationText(upgrade.elapsedMs)} so far`}
      {upgrade.predictedMs === null ? '' : `, predicted ${durationText(upgrade.predictedMs)}`}
      {' · '}
      <Link to={clusterPath(place.namespace, place.cluster, 'upgrades', upgrade.id)}>
        Plan <Icon name="next" />
      </Link>
    </p>
    {upgrade.nodes.length === 0 ? null : (
      <Table label="Nodes of the upgrade" head={['Node', 'Phase', 'Step', 'Change', 'Duration', 'Waiting for']}>
        {upgrade.nodes.map((node) => (
          <tr key={node.name}>
            <td>{node.name}</td>
            <td>
              <State state={node.phase === 'Waiting' ? 'Planned' : node.phase} word={node.phase} />
            </td>
            <td>{node.step ?? '–'}</td>
            <td className="num">
              {node.from} → {node.to}
            </td>
            <td className="num">
              {node.elapsedMs === null ? '–' : durationText(node.elapsedMs)}{' '}
              <span className="dim">of {durationText(node.predictedMs)}</span>
            </td>
            <td className="wrap">
              {node.waitsFor}
              {node.failure === '' ? null : (
                <div className="tone-error">
                  {node.failure} (attempt {node.attempt} of {node.attemptsMax}
                  {node.nextAttemptAt === null ? (
                    ''
                  ) : (
                    <>
                      , next <Ago at={node.nextAttemptAt} />
                    </>
                  )}
                  )
                </div>
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
    {upgrade.nextActions.length === 0 ? null : (
      <ul className="next">
        {upgrade.nextActions.map((action) => (
          <li key={action}>{action}</li>
        ))}
      </ul>
    )}
  </Panel>
);

const Steering = ({ place, upgrade }: { readonly place: ClusterAt; readonly upgrade: Upgrade }) => {
  const mayDo = useMay();
  const [act, setAct] = useState<Act | undefined>(undefined);
  if (!mayDo('operator', place.namespace)) return null;
  const params = { params: { path: { ...place, upgrade: upgrade.id } } };
  const acts = actsOf(upgrade, params);
  return (
    <>
      {acts.map((one) => (
        <Button key={one.button} look={one.look ?? 'plain'} onClick={() => setAct(one)}>
          {one.button} …
        </Button>
      ))}
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </>
  );
};

type Params = { readonly params: { readonly path: { namespace: string; cluster: string; upgrade: string } } };

/** What the phase allows. */
const actsOf = ({ phase, nodes }: Upgrade, params: Params): readonly Act[] => {
  const act = (
    button: string,
    path: `${typeof UPGRADE}/${'pause' | 'resume' | 'abort'}`,
    description: string,
    look?: Act['look'],
  ): Act => ({
    title: `${button} the upgrade?`,
    description,
    button,
    needsReason: true,
    ...(look === undefined ? {} : { look }),
    run: ({ reason }) => dataOf(api.POST(path, { ...params, body: { reason } })),
  });
  const pause = act('Pause', `${UPGRADE}/pause`, 'Nodes that are being changed are finished; no other one begins.');
  const resume = act('Resume', `${UPGRADE}/resume`, 'It continues where it stopped.', 'primary');
  const abort = act(
    'Abort',
    `${UPGRADE}/abort`,
    'Nodes that are being changed are finished; the others stay as they are.',
    'danger',
  );
  const failed = nodes.find((node) => node.phase === 'Failed');
  const skip: readonly Act[] =
    failed === undefined
      ? []
      : [
          {
            title: `Skip ${failed.name}?`,
            description: 'It stays as it is, and the upgrade continues with the others.',
            button: `Skip ${failed.name}`,
            needsReason: true,
            run: ({ reason }) =>
              dataOf(api.POST(`${UPGRADE}/skip`, { ...params, body: { node: failed.name, reason } })),
          },
        ];
  const retry: readonly Act[] =
    failed === undefined
      ? []
      : [
          {
            title: 'Retry?',
            description: `${failed.name} is tried again.`,
            button: 'Retry',
            run: () => dataOf(api.POST(`${UPGRADE}/retry`, params)),
          },
        ];
  const override: Act = {
    title: 'Override a rule?',
    description:
      'The upgrade goes on although the rule holds, for this upgrade alone. The history names you and the reason.',
    button: 'Override',
    look: 'danger',
    needsReason: true,
    options: { label: 'Rule', values: OVERRIDABLE },
    run: ({ reason, option }) => dataOf(api.POST(`${UPGRADE}/override`, { ...params, body: { rule: option, reason } })),
  };
  if (phase === 'Running') return [pause, override, abort];
  if (phase === 'Paused') return [resume, override, abort];
  if (phase === 'Waiting') return [override, abort];
  if (phase === 'Halted') return [...retry, ...skip, override, abort];
  return phase === 'Planned' || phase === 'Approved' ? [abort] : [];
};
