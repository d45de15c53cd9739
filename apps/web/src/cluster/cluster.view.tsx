import { useState } from 'react';
import { api, dataOf, type Cluster } from '../api.js';
import { TimeSlider } from '../fleet/time.slider.js';
import { useEvents } from '../live.js';
import { usePlace } from '../place.js';
import { useMay } from '../session/session.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { Ago, Button, clusterPath, Failure, Icon, Link, Loading, State } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';
import { ClusterTabs } from './cluster.tabs.js';
import { useCluster } from './cluster.reads.js';
import { ClusterEvents } from './events.js';
import { Conditions } from './conditions.js';
import { Difference } from './difference.view.js';
import { Hooks } from './hooks.js';
import { NodeLife } from './node.view.js';
import { NodesTable } from './nodes.js';
import { Operations, Running } from './operations.js';
import { ObjectTree } from './tree.js';
import { Drift, Pools } from './pools.js';
import { Snapshots } from './snapshots.js';

const ClusterView = ({
  namespace,
  cluster,
  tab,
  item,
}: ClusterAt & { readonly tab: string; readonly item: string | undefined }) => {
  const { query } = usePlace();
  const at = query['at'];
  const place = { namespace, cluster };
  const { data, error } = useCluster(place, at);
  useEvents(
    at === undefined
      ? `ns/${encodeURIComponent(namespace)}/clusters/${encodeURIComponent(cluster)}/events/stream`
      : undefined,
    data?.lastSeq,
    'cluster',
  );
  return (
    <div className="view">
      <ClusterHead place={place} view={data} isPast={at !== undefined} />
      <ClusterTabs {...place} tab={tab} at={at} />
      <Failure error={error} />
      {data === undefined && error === null ? <Loading what="the cluster" /> : null}
      {data === undefined ? null : <Part tab={tab} item={item} place={place} view={data} at={at} />}
      {tab === 'changes' ? null : <TimeSlider namespace={namespace} cluster={cluster} />}
    </div>
  );
};
export default ClusterView;

const Part = ({
  tab,
  item,
  place,
  view,
  at,
}: {
  readonly tab: string;
  readonly item: string | undefined;
  readonly place: ClusterAt;
  readonly view: Cluster;
  readonly at: string | undefined;
}) => {
  if (tab === 'nodes' && item !== undefined) return <NodeLife place={place} node={item} view={view} />;
  if (tab === 'nodes') return <NodesTable view={view} place={place} isPast={at !== undefined} />;
  if (tab === 'operations') return <Operations place={place} />;
  if (tab === 'changes') return <Difference place={place} />;
  if (tab === 'snapshots') return <Snapshots place={place} />;
  if (tab === 'hooks') return <Hooks place={place} view={view} />;
  if (tab === 'events') return <ClusterEvents place={place} at={at} />;
  return (
    <div className="columns">
      <div>
        <Running view={view} place={place} />
        <Conditions place={place} conditions={view.conditions} />
        <Facts view={view} />
      </div>
      <div>
        <ObjectTree view={view} />
        {at === undefined ? <Pools place={place} /> : null}
        {at === undefined ? <Drift place={place} view={view} /> : null}
      </div>
    </div>
  );
};

const ClusterHead = ({
  place: { namespace, cluster },
  view,
  isPast,
}: {
  readonly place: ClusterAt;
  readonly view: Cluster | undefined;
  readonly isPast: boolean;
}) => (
  <header className="view-head">
    <h1>
      <Link to={[]} className="crumb">
        Fleet
      </Link>
      <Icon name="next" /> <span className="dim">{namespace}</span> {cluster}
    </h1>
    {view === undefined ? null : (
      <>
        <State state={view.status.state} />
        <span className="num dim">{view.k8sVersion}</span>
        <span className="num dim">
          {view.nodes.filter(({ ready }) => ready).length}/{view.nodes.length} nodes
        </span>
        {isPast ? <span className="badge">as it was</span> : <Actions view={view} />}
      </>
    )}
    {view === undefined || view.status.message === '' ? null : <p className="sentence">{view.status.message}</p>}
  </header>
);

/** Only what the caller may do is offered. */
const Actions = ({ view: { namespace, name, status } }: { readonly view: Cluster }) => {
  const mayDo = useMay();
  const [act, setAct] = useState<Act | undefined>(undefined);
  if (!mayDo('operator', namespace)) return null;
  const params = { params: { path: { namespace, cluster: name } } };
  const isPaused = status.state === 'Paused';
  const isFailed = status.state === 'Failed';
  return (
    <div className="actions">
      {isFailed ? (
        <Button
          look="primary"
          onClick={() =>
            setAct({
              title: `Retry ${name}?`,
              description: 'It continues from the step that failed.',
              button: 'Retry',
              run: () => dataOf(api.POST('/ns/{namespace}/clusters/{cluster}/retry', params)),
            })
          }
        >
          Retry
        </Button>
      ) : (
        <Link to={clusterPath(namespace, name, 'upgrade')} className="button button-plain">
          Upgrade …
        </Link>
      )}
      <Link to={clusterPath(namespace, name, 'edit')} className="button button-plain">
        Edit …
      </Link>
      <Button
        icon={isPaused ? 'play' : 'pause'}
        onClick={() =>
          setAct({
            title: `${isPaused ? 'Resume' : 'Pause'} ${name}?`,
            description: isPaused
              ? 'Work on the cluster continues where it stopped.'
              : 'Fairlead does no work on the cluster until it is resumed. What runs in it is not affected.',
            button: isPaused ? 'Resume' : 'Pause',
            needsReason: true,
            run: ({ reason }) =>
              isPaused
                ? dataOf(api.POST('/ns/{namespace}/clusters/{cluster}/resume', { ...params, body: { reason } }))
                : dataOf(api.POST('/ns/{namespace}/clusters/{cluster}/pause', { ...params, body: { reason } })),
          })
        }
      >
        {isPaused ? 'Resume …' : 'Pause …'}
      </Button>
      <Button
        onClick={() =>
          setAct({
            title: `Delete ${namespace}/${name}?`,
            description: 'Its machines, load balancers and volumes are deleted. Its history stays.',
            button: 'Delete',
            look: 'danger',
            typed: name,
            run: () => dataOf(api.DELETE('/ns/{namespace}/clusters/{cluster}', params)),
          })
        }
      >
        Delete …
      </Button>
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </div>
  );
};

const Facts = ({ view }: { readonly view: Cluster }) => (
  <section className="panel">
    <header className="panel-head">
      <h2>Facts</h2>
    </header>
    <dl className="facts">
      <dt>API</dt>
      <dd className="num">{view.endpoint === '' ? '–' : view.endpoint}</dd>
      <dt>Network</dt>
      <dd>
        {view.networkCni}, pods <span className="num">{view.podCidr}</span>, services{' '}
        <span className="num">{view.serviceCidr}</span>
      </dd>
      <dt>etcd</dt>
      <dd>{view.etcd}</dd>
      <dt>Created</dt>
      <dd>
        <Ago at={view.createdTime} />
      </dd>
      {view.lease === undefined ? null : (
        <>
          <dt>Ends</dt>
          <dd>
            <Ago at={view.lease.deletionAt} />
          </dd>
        </>
      )}
      <dt>Addons</dt>
      <dd>
        {(view.addons ?? []).map(({ name, version, phase }) => (
          <span key={name} className="pair">
            {name} <span className="num dim">{version}</span> {phase === 'Deployed' ? null : <State state={phase} />}
          </span>
        ))}
      </dd>
      {view.description === '' ? null : (
        <>
          <dt>Description</dt>
          <dd>{view.description}</dd>
        </>
      )}
    </dl>
  </section>
);
