import { parseYaml } from '@fairlead/parsers';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useState } from 'react';
import { stringify } from 'yaml';
import { api, dataOf, Refusal, type Schemas } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { useManifest } from '../cluster/pools.js';
import { useMay, useWhoami } from '../session/session.js';
import { Button, clusterPath, Empty, Failure, go, Icon, Link, Loading, Panel } from '../ui/ui.js';
import { PlanSteps } from './plan.steps.js';

type Manifest = Schemas['ClusterManifest'];
const MANIFEST = '/ns/{namespace}/clusters/{cluster}/manifest';
const SETTLE_MS = 350;
const YAML_LIMITS = { lengthMax: 256 * 1024 };
const NEW = `apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  serviceType: single
  controlPlane: { replicas: 1, connection: CONNECTION, machineType: MACHINE }
  pools:
    - { name: web, replicas: 2, connection: CONNECTION, machineType: MACHINE }
`;

interface Read {
  readonly manifest?: Manifest;
  readonly fault?: string;
}

const readManifest = (text: string): Read => {
  try {
    const value = parseYaml(text, YAML_LIMITS);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { fault: 'A manifest is a YAML mapping.' };
    return { manifest: value as Manifest };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
};

const nameIn = ({ manifest }: Read): string => {
  const name: unknown = manifest?.metadata?.name;
  return typeof name === 'string' ? name : '';
};

/** Create or edit: the manifest on the left, and beside it what it would do, judged by the gateway while it is typed. */
const CreateView = ({ namespace, cluster }: Partial<ClusterAt>) =>
  namespace === undefined || cluster === undefined ? (
    <NewCluster />
  ) : (
    <EditCluster namespace={namespace} cluster={cluster} />
  );
export default CreateView;

const NewCluster = () => {
  const { data: who } = useWhoami();
  const mayDo = useMay();
  const namespaces = useQuery({
    queryKey: ['namespaces'],
    queryFn: () => dataOf(api.GET('/ns', { params: { query: {} } })),
  });
  const connections = useQuery({
    queryKey: ['connections'],
    queryFn: () => dataOf(api.GET('/connections', { params: { query: {} } })),
  });
  const offered = (namespaces.data?.items ?? []).map(({ name }) => name).filter((name) => mayDo('operator', name));
  const [chosen, setNamespace] = useState<string | undefined>(undefined);
  const connection = connections.data?.items[0]?.name;
  const specs = useQuery({
    queryKey: ['specs', connection],
    enabled: connection !== undefined,
    queryFn: () =>
      dataOf(
        api.GET('/mcir/connections/{connection}/specs', {
          params: { path: { connection: connection ?? '' }, query: {} },
        }),
      ),
    retry: false,
  });
  if (
    who === undefined ||
    namespaces.data === undefined ||
    connections.data === undefined ||
    (connection !== undefined && specs.isPending)
  )
    return <Loading what="what can be created" />;
  const namespace = chosen ?? (offered.includes('default') ? 'default' : offered[0]);
  if (namespace === undefined) return <Empty title="Clusters are created by operators of a namespace." />;
  const machine =
    specs.data?.items?.find(({ name }) => name.includes('medium'))?.name ??
    specs.data?.items?.[0]?.name ??
    'machine-type';
  const text = NEW.replaceAll('CONNECTION', connection ?? 'connection').replaceAll('MACHINE', machine);
  return (
    <div className="view">
      <header className="view-head">
        <h1>Create a cluster</h1>
        <label className="field-inline">
          in namespace{' '}
          <select value={namespace} onChange={(event) => setNamespace(event.target.value)}>
            {offered.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </header>
      <Workbench key={namespace} namespace={namespace} text={text} button="Create" />
    </div>
  );
};

const EditCluster = ({ namespace, cluster }: ClusterAt) => {
  const { data, error } = useManifest({ namespace, cluster });
  const mayDo = useMay();
  const [text, setText] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (data === undefined || text !== undefined) return;
    const { status: _status, plan: _plan, warnings: _warnings, operations: _operations, ...declared } = data;
    setText(stringify(declared));
  }, [data, text]);
  return (
    <div className="view">
      <header className="view-head">
        <h1>
          <Link to={clusterPath(namespace, cluster)} className="crumb">
            {namespace}/{cluster}
          </Link>
          <Icon name="next" /> Edit
        </h1>
      </header>
      <Failure error={error} />
      {text === undefined ? (
        <Loading what="the manifest" />
      ) : mayDo('operator', namespace) ? (
        <Workbench namespace={namespace} cluster={cluster} text={text} button="Apply" />
      ) : (
        <pre className="yaml">{text}</pre>
      )}
    </div>
  );
};

const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useDeferredValue(settled);
};

const Workbench = ({
  namespace,
  cluster,
  text: first,
  button,
}: {
  readonly namespace: string;
  readonly cluster?: string;
  readonly text: string;
  readonly button: string;
}) => {
  const queries = useQueryClient();
  const [text, setText] = useState(first);
  const settled = useSettled(text);
  const read = readManifest(settled);
  const name = nameIn(read);
  const path = { namespace, cluster: cluster ?? name };
  const { manifest } = read;
  const plan = useQuery({
    queryKey: ['plan', path, settled],
    enabled: manifest !== undefined && path.cluster !== '',
    queryFn: () =>
      dataOf(api.PUT(MANIFEST, { params: { path, query: { dryRun: 'All' } }, body: manifest as Manifest })),
    retry: false,
    placeholderData: (before) => before,
  });
  const apply = useMutation({
    mutationFn: () => dataOf(api.PUT(MANIFEST, { params: { path }, body: manifest as Manifest })),
    onSuccess: async () => {
      await queries.invalidateQueries();
      go(clusterPath(path.namespace, path.cluster));
    },
  });
  const isSettled = settled === text;
  const mayApply =
    isSettled &&
    plan.data !== undefined &&
    plan.error === null &&
    !plan.isPlaceholderData &&
    (plan.data.plan ?? []).length > 0;
  return (
    <div className="columns">
      <Panel title="Manifest" side={<span className="dim">YAML</span>}>
        <textarea
          className="yaml"
          aria-label="Manifest"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          rows={Math.max(16, text.split('\n').length + 1)}
        />
      </Panel>
      <div>
        <Panel
          title="What it would do"
          side={
            <span className="dim" role="status">
              {isSettled && !plan.isFetching ? '' : 'checking …'}
            </span>
          }
        >
          {read.fault === undefined ? null : (
            <p className="tone-error">
              <Icon name="error" /> {read.fault}
            </p>
          )}
          {plan.error === null ? null : <Faults error={plan.error} />}
          {plan.data !== undefined && plan.error === null && read.fault === undefined ? (
            <PlanSteps steps={plan.data.plan ?? []} warnings={plan.data.warnings ?? []} />
          ) : null}
        </Panel>
        <Failure error={apply.error} />
        <div className="buttons">
          <Button look="primary" disabled={!mayApply || apply.isPending} onClick={() => apply.mutate()}>
            {apply.isPending ? 'Sending …' : button}
          </Button>
          <span className="dim">
            {namespace}/{path.cluster === '' ? '…' : path.cluster}
          </span>
        </div>
      </div>
    </div>
  );
};

/** Each fault with its field, in the gateway's words. */
const Faults = ({ error }: { readonly error: unknown }) => {
  if (!(error instanceof Refusal) || error.view.errors.length === 0) return <Failure error={error} />;
  return (
    <ul className="findings" role="alert">
      {error.view.errors.map((one) => (
        <li key={`${one.reason} ${one.field ?? ''} ${one.message}`}>
          <span className="tone-error">
            <Icon name="error" />
          </span>
          <span>
            {one.field === undefined ? null : <code>{one.field}</code>} {one.message}{' '}
            <span className="dim">{one.help}</span> <code className="code">{one.reason}</code>
          </span>
        </li>
      ))}
    </ul>
  );
};
