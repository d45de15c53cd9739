import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, dataOf, type Schemas, type Upgrade } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { useManifest } from '../cluster/cluster.reads.js';
import { durationText, hashText } from '../format.js';
import { useEvents } from '../live.js';
import { useMay } from '../session/session.js';
import { Button, clusterPath, Empty, Failure, go, Icon, Link, Loading, Panel, State, Table } from '../ui/ui.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { isOverridable, withOverride, type Override } from './overrides.js';
import { planDifference } from './plan.diff.js';
import { UpgradeProgress, useUpgrade } from './upgrade.control.js';

type Plan = NonNullable<Upgrade['plan']>;
type Finding = Schemas['Finding'];
const UPGRADES = '/ns/{namespace}/clusters/{cluster}/upgrades';

/** The plan room: what an upgrade would do, what rules say about it, and its approval by hash. */
const PlanView = ({ namespace, cluster, upgrade }: ClusterAt & { readonly upgrade?: string }) => {
  const place = { namespace, cluster };
  useEvents(
    upgrade === undefined
      ? undefined
      : `ns/${encodeURIComponent(namespace)}/clusters/${encodeURIComponent(cluster)}/events/stream`,
    0,
    'cluster',
  );
  return (
    <div className="view">
      <header className="view-head">
        <h1>
          <Link to={clusterPath(namespace, cluster)} className="crumb">
            {namespace}/{cluster}
          </Link>
          <Icon name="next" /> {upgrade === undefined ? 'Upgrade' : `Upgrade ${upgrade}`}
        </h1>
      </header>
      {upgrade === undefined ? <Draft place={place} /> : <Requested place={place} upgrade={upgrade} />}
    </div>
  );
};
export default PlanView;

const Draft = ({ place }: { readonly place: ClusterAt }) => {
  const queries = useQueryClient();
  const mayDo = useMay();
  const versions = useQuery({ queryKey: ['version'], queryFn: () => dataOf(api.GET('/version')) });
  const manifest = useManifest(place);
  const current = manifest.data?.spec.version.replace(/^v/, '');
  const [version, setVersion] = useState('');
  const [overrides, setOverrides] = useState<readonly Override[]>([]);
  const params = { path: place };
  // Everything else as the gateway has it by default; the plan waits for its approval.
  const body = { version, approved: false, overrides } as Schemas['UpgradeRequest'];
  const plan = useMutation({
    mutationFn: () => dataOf(api.POST(UPGRADES, { params: { ...params, query: { dryRun: 'true' } }, body })),
  });
  const request = useMutation({
    mutationFn: () => dataOf(api.POST(UPGRADES, { params, body })),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries();
      go(clusterPath(place.namespace, place.cluster, 'upgrades', id));
    },
  });
  const [isReplanning, setReplanning] = useState(false);
  const planAgain = plan.mutate;
  useEffect(() => {
    if (!isReplanning) return;
    setReplanning(false);
    planAgain();
  }, [isReplanning, planAgain]);
  if (!mayDo('operator', place.namespace))
    return <Empty title="Upgrades are planned by operators of this namespace." />;
  return (
    <>
      <Panel title="Target">
        <form
          className="inline"
          onSubmit={(event) => {
            event.preventDefault();
            plan.mutate();
          }}
        >
          <label className="field">
            Kubernetes version {current === undefined ? '' : `(now ${current})`}
            <input
              list="versions"
              value={version}
              onChange={(event) => setVersion(event.target.value)}
              placeholder="1.35.4"
              required
            />
          </label>
          <datalist id="versions">
            {(versions.data?.kubernetes.known ?? []).map((known) => (
              <option key={known} value={known} />
            ))}
          </datalist>
          <Button type="submit" look="primary" disabled={plan.isPending || version === ''}>
            {plan.isPending ? 'Planning …' : 'Show the plan'}
          </Button>
          <span className="dim">A plan changes nothing.</span>
        </form>
      </Panel>
      <Failure error={plan.error ?? request.error} />
      {plan.data === undefined ? null : (
        <>
          <PlanBody
            upgrade={plan.data}
            onOverride={(rule, reason) => {
              setOverrides(withOverride(overrides, { rule, reason }));
              setReplanning(true);
            }}
          />
          <div className="buttons">
            <Button
              look="primary"
              onClick={() => request.mutate()}
              disabled={request.isPending || plan.data.phase === 'Rejected'}
            >
              Request this upgrade
            </Button>
            <span className="dim">It is planned again, and waits for your approval of its hash.</span>
          </div>
        </>
      )}
    </>
  );
};

const Requested = ({ place, upgrade }: { readonly place: ClusterAt; readonly upgrade: string }) => {
  const { data, error } = useUpgrade(place, upgrade);
  const queries = useQueryClient();
  const mayDo = useMay();
  const [seen, setSeen] = useState<Plan | undefined>(undefined);
  const plan = data?.plan ?? undefined;
  if (seen === undefined && plan !== undefined) setSeen(plan);
  const approve = useMutation({
    mutationFn: (planHash: string) =>
      dataOf(
        api.POST('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}/approve', {
          params: { path: { ...place, upgrade } },
          body: { planHash },
        }),
      ),
    onSettled: () => queries.invalidateQueries(),
  });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading what="the plan" />;
  const difference = seen === undefined || plan === undefined ? [] : planDifference(seen, plan);
  return (
    <>
      <UpgradeProgress place={place} upgrade={data} />
      {difference.length === 0 ? null : (
        <Panel title="The plan has changed since you opened it" className="panel-alert">
          <ul>
            {difference.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          <Button onClick={() => setSeen(plan)}>I have read it</Button>
        </Panel>
      )}
      <Failure error={approve.error} />
      {data.phase === 'Planned' && data.planHash !== null && mayDo('operator', place.namespace) ? (
        <div className="buttons">
          <Button
            look="primary"
            disabled={approve.isPending || difference.length > 0}
            onClick={() => approve.mutate(data.planHash ?? '')}
          >
            Approve plan {hashText(data.planHash)}
          </Button>
          <span className="dim">The approval is of this plan alone: if it changes, it needs another one.</span>
        </div>
      ) : null}
      <PlanBody upgrade={data} />
    </>
  );
};

const SEVERITY = { refuse: 'Rejected', ask: 'Halted', inform: 'Planned' } as const;
const SEVERITY_WORD = { refuse: 'refused', ask: 'asks', inform: 'informs' } as const;

type OnOverride = (rule: string, reason: string) => void;

/** Rules that may be overridden are, with a reason, for this upgrade alone. */
const Findings = ({
  findings,
  onOverride,
}: {
  readonly findings: readonly Finding[];
  readonly onOverride: OnOverride | undefined;
}) => {
  const [act, setAct] = useState<Act | undefined>(undefined);
  if (findings.length === 0) return null;
  const overrideOf = (rule: string): Act => ({
    title: `Override ${rule}?`,
    description: 'The plan is made again as if the rule did not hold. The history names you and the reason.',
    button: 'Override',
    look: 'danger',
    needsReason: true,
    run: ({ reason }) => Promise.resolve(onOverride?.(rule, reason)),
  });
  return (
    <Panel title="What the rules say">
      <ul className="findings">
        {findings.map(({ rule, severity, sentence, help }) => (
          <li key={`${rule} ${sentence}`}>
            <State state={SEVERITY[severity]} word={`${rule} ${SEVERITY_WORD[severity]}`} />
            <span>
              {sentence} <span className="dim">{help}</span>{' '}
              {onOverride !== undefined && severity !== 'inform' && isOverridable(rule) ? (
                <Button look="quiet" aria-label={`Override ${rule}`} onClick={() => setAct(overrideOf(rule))}>
                  Override …
                </Button>
              ) : null}
            </span>
          </li>
        ))}
      </ul>
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </Panel>
  );
};

const PlanBody = ({ upgrade, onOverride }: { readonly upgrade: Upgrade; readonly onOverride?: OnOverride }) => {
  const { plan, findings, planHash } = upgrade;
  const rules = findings.length > 0 ? findings : (plan?.findings ?? []);
  return (
    <>
      {upgrade.phase === 'Rejected' ? <p className="sentence tone-error">{upgrade.message}</p> : null}
      <Findings findings={rules} onOverride={onOverride} />
      {plan === null ? null : (
        <Panel
          title={`Plan: ${plan.path.join(' → ')}`}
          side={
            <span className="num dim">
              {plan.operations.length} operations, about {durationText(plan.predictedSeconds * 1_000)}
              {planHash === null ? '' : ` · hash ${hashText(planHash)}`}
            </span>
          }
        >
          <Table
            label="Operations of the plan"
            head={['Batch', 'Operation', 'Nodes', 'Pool', 'Drain', 'Predicted', 'Why']}
          >
            {plan.operations.map((one) => (
              <tr key={one.id}>
                <td className="num">{one.batch}</td>
                <td>{one.kind}</td>
                <td>
                  {one.node ?? (one.nodes.length === 0 ? '–' : one.nodes.join(', '))}{' '}
                  {one.canary ? <span className="badge">canary</span> : null}
                </td>
                <td>{one.pool ?? '–'}</td>
                <td>{one.drain ? 'yes' : ''}</td>
                <td className="num">{durationText(one.predictedSeconds * 1_000)}</td>
                <td className="wrap dim">{one.reason}</td>
              </tr>
            ))}
          </Table>
          {plan.held.length === 0 ? null : <p>Held, and left as they are: {plan.held.join(', ')}</p>}
        </Panel>
      )}
    </>
  );
};
