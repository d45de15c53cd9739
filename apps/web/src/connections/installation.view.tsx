import { useQuery } from '@tanstack/react-query';
import { api, dataOf, Refusal } from '../api.js';
import { useMay, useWhoami } from '../session/session.js';
import { Ago, clusterPath, Empty, Failure, Link, Panel, State, Table } from '../ui/ui.js';

/** What belongs to no cluster: namespaces and quotas, templates, realms, applications, tokens, quarantine. */
const InstallationView = () => {
  const mayDo = useMay();
  const { data: who } = useWhoami();
  const version = useQuery({ queryKey: ['version'], queryFn: () => dataOf(api.GET('/version')) });
  const namespaces = useQuery({
    queryKey: ['namespaces'],
    queryFn: () => dataOf(api.GET('/ns', { params: { query: {} } })),
  });
  const isAdministrator = mayDo('admin', '*');
  const mayTokens = who?.roles.some(({ role }) => role === 'admin') ?? false;
  return (
    <div className="view">
      <header className="view-head">
        <h1>Installation</h1>
        <span className="dim num">Fairlead {version.data?.fairlead}</span>
      </header>
      <Panel title="Namespaces">
        <Failure error={namespaces.error} />
        <Table label="Namespaces" head={['Namespace', 'Description', 'Quota']}>
          {(namespaces.data?.items ?? []).map(({ name, description, quota }) => (
            <tr key={name}>
              <td>
                <Link to={['fleet']} query={{ ns: name }}>
                  {name}
                </Link>
              </td>
              <td className="wrap">{description}</td>
              <td className="num">
                {quota === undefined
                  ? '–'
                  : Object.entries(quota)
                      .map(([what, limit]) => `${what} ${String(limit)}`)
                      .join(', ')}
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
      {(namespaces.data?.items ?? []).map(({ name }) => (
        <Templates key={name} namespace={name} />
      ))}
      <Applications />
      {mayTokens ? <Tokens /> : null}
      {isAdministrator ? <Quarantine /> : null}
    </div>
  );
};
export default InstallationView;

/** The page offers nobody what their role may not read. */
const isForbidden = (error: unknown): boolean => error instanceof Refusal && error.status === 403;

const Templates = ({ namespace }: { readonly namespace: string }) => {
  const path = { namespace };
  const templates = useQuery({
    queryKey: ['templates', namespace],
    queryFn: () => dataOf(api.GET('/ns/{namespace}/cluster-templates', { params: { path, query: {} } })),
  });
  const realms = useQuery({
    queryKey: ['realms', namespace],
    queryFn: () => dataOf(api.GET('/ns/{namespace}/realms', { params: { path, query: {} } })),
  });
  const hasAny = (templates.data?.items.length ?? 0) + (realms.data?.items.length ?? 0) > 0;
  const errors = [templates.error, realms.error].filter((error) => error !== null && !isForbidden(error));
  if (!hasAny && errors.length === 0) return null;
  return (
    <Panel title={`Of namespace ${namespace}`}>
      <Failure error={errors[0]} />
      <Table label={`Of namespace ${namespace}`} head={['Kind', 'Name', 'State', 'Description', 'Used by']}>
        {(templates.data?.items ?? []).map(({ metadata, spec, status }) => (
          <tr key={`template ${metadata.name}`}>
            <td>template</td>
            <td>{metadata.name}</td>
            <td>
              {spec.deprecated ? (
                <State state="Held" word="deprecated" />
              ) : (
                <State state="Ready" word={`revision ${status?.revision ?? 1}`} />
              )}
            </td>
            <td className="wrap">{spec.description}</td>
            <td>{status?.clusters.join(', ')}</td>
          </tr>
        ))}
        {(realms.data?.items ?? []).map((realm) => (
          <tr key={`realm ${realm.name}`}>
            <td>realm</td>
            <td>{realm.name}</td>
            <td>
              <State state={realm.state} />
            </td>
            <td className="wrap">{realm.message === '' ? realm.issuerUrl : realm.message}</td>
            <td>{realm.clusters.join(', ')}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
};

const Applications = () => {
  const { data, error } = useQuery({
    queryKey: ['applications'],
    queryFn: () => dataOf(api.GET('/applications', { params: { query: {} } })),
    retry: false,
  });
  if (isForbidden(error) || (error === null && (data === undefined || data.items.length === 0))) return null;
  return (
    <Panel title="Applications">
      <Failure error={error} />
      <Table label="Applications" head={['Application', 'State', 'Latest version', 'Description']}>
        {(data?.items ?? []).map(({ name, label, state, message, versions, description }) => (
          <tr key={name}>
            <td title={label}>{name}</td>
            <td title={message}>
              <State state={state} />
            </td>
            <td className="num">{versions[0]?.version ?? '–'}</td>
            <td className="wrap">{message === '' ? description : message}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
};

const Tokens = () => {
  const { data, error } = useQuery({
    queryKey: ['tokens'],
    queryFn: () => dataOf(api.GET('/tokens', { params: { query: {} } })),
  });
  return (
    <Panel title="API tokens">
      <Failure error={error} />
      {data === undefined && error === null ? <Empty title="Loading the tokens …" /> : null}
      <Table label="API tokens" head={['Name', 'Roles', 'Created', 'Ends']}>
        {(data?.items ?? []).map((token) => (
          <tr key={token.id}>
            <td title={token.id}>{token.name}</td>
            <td className="wrap">
              {token.roles
                .map(({ namespace, role }) => `${role} in ${namespace === '*' ? 'all namespaces' : namespace}`)
                .join(', ')}
            </td>
            <td className="num dim">
              <Ago at={token.createdTime} />
            </td>
            <td className="num dim">{token.expiresAt === undefined ? 'never' : <Ago at={token.expiresAt} />}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
};

const Quarantine = () => {
  const { data, error } = useQuery({
    queryKey: ['quarantine'],
    queryFn: () => dataOf(api.GET('/quarantine', { params: { query: {} } })),
  });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return null;
  return (
    <Panel title="Quarantine">
      {data.items.length === 0 && data.rejected.length === 0 ? (
        <Empty title="Nothing is quarantined, and every message of the log is an event." />
      ) : (
        <Table label="Quarantine" head={['Cluster', 'Service', 'Event', 'Since', 'Error']}>
          {data.items.map((one) => (
            <tr key={`${one.service} ${one.namespace}/${one.cluster}`}>
              <td>
                <Link to={clusterPath(one.namespace, one.cluster)}>
                  {one.namespace}/{one.cluster}
                </Link>
              </td>
              <td>{one.service}</td>
              <td className="num">{one.seq}</td>
              <td className="num dim">
                <Ago at={one.quarantinedTime} />
              </td>
              <td className="wrap">{one.error}</td>
            </tr>
          ))}
          {data.rejected.map((one) => (
            <tr key={one.stream}>
              <td>{one.stream}</td>
              <td>–</td>
              <td className="num">{one.lastSeq}</td>
              <td className="num dim">
                <Ago at={one.rejectedTime} />
              </td>
              <td className="wrap">
                {one.reason}: {one.detail}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
};
