import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { stringify } from 'yaml';
import { api, dataOf } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { useCluster, useManifest } from '../cluster/cluster.reads.js';
import { useMay, useWhoami } from '../session/session.js';
import { clusterPath, Empty, Failure, Icon, Link, Loading } from '../ui/ui.js';
import { Workbench } from './workbench.js';

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

/** Create or edit: a form and the manifest, and beside them what it would do, judged while it is typed. */
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
  const view = useCluster({ namespace, cluster }, undefined);
  const present = useMemo(
    () => (data === undefined || view.data === undefined ? undefined : { manifest: data, nodes: view.data.nodes }),
    [data, view.data],
  );
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
      <Failure error={error ?? view.error} />
      {text === undefined || present === undefined ? (
        <Loading what="the manifest" />
      ) : mayDo('operator', namespace) ? (
        <Workbench namespace={namespace} cluster={cluster} text={text} button="Apply" present={present} />
      ) : (
        <pre className="yaml">{text}</pre>
      )}
    </div>
  );
};
