import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, dataOf, type Schemas } from '../api.js';
import { counted } from '../format.js';
import { useMay } from '../session/session.js';
import { Ago, Button, Empty, Failure, Icon, Link, Loading, Panel, State, Table } from '../ui/ui.js';

type Connection = Schemas['Connection'];

const REFRESH_MS = 10_000;

const ConnectionsView = ({ name }: { readonly name: string | undefined }) => {
  const { data, error } = useQuery({
    queryKey: ['connections'],
    queryFn: () => dataOf(api.GET('/connections', { params: { query: {} } })),
    refetchInterval: REFRESH_MS,
  });
  const one = data?.items.find((connection) => connection.name === name);
  return (
    <div className="view">
      <header className="view-head">
        <h1>
          {name === undefined ? (
            'Connections'
          ) : (
            <>
              <Link to={['connections']} className="crumb">
                Connections
              </Link>
              <Icon name="next" /> {name}
            </>
          )}
        </h1>
      </header>
      <Failure error={error} />
      {data === undefined && error === null ? <Loading what="connections" /> : null}
      {data === undefined ? null : name === undefined ? (
        <List items={data.items} />
      ) : one === undefined ? (
        <Empty title="There is no such connection that you may see." />
      ) : (
        <Details connection={one} />
      )}
    </div>
  );
};
export default ConnectionsView;

const verdictOf = ({ verified, problem }: Connection) => {
  if (problem !== '') return <State state="Degraded" word="Not usable" />;
  return verified === null ? (
    <State state="Planned" word="Not verified yet" />
  ) : (
    <State state="verified" word={verified.simulated ? 'Verified, simulated' : 'Verified'} />
  );
};

const List = ({ items }: { readonly items: readonly Connection[] }) =>
  items.length === 0 ? (
    <Empty title="There are no connections that you may see.">
      <p>
        Register one with <code>npx fairlead connection add</code>.
      </p>
    </Empty>
  ) : (
    <Panel title="Where machines come from">
      <Table
        label="Connections"
        head={['Connection', 'Verdict', 'Provider', 'Region', 'Hosts', 'Kept out', 'Checked', 'Problem']}
      >
        {items.map((connection) => (
          <tr key={connection.name}>
            <td>
              <Link to={['connections', connection.name]}>{connection.name}</Link>
            </td>
            <td>{verdictOf(connection)}</td>
            <td>{connection.provider}</td>
            <td>{connection.region}</td>
            <td className="num">{connection.hosts?.length ?? '–'}</td>
            <td className="num">
              {connection.hosts?.filter(({ state }) => state === 'kept-out' || state === 'unreached').length ?? '–'}
            </td>
            <td className="num dim">
              <Ago at={connection.checkedTime} />
            </td>
            <td className="wrap">{connection.problem}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );

const Details = ({ connection }: { readonly connection: Connection }) => {
  const mayDo = useMay();
  const queries = useQueryClient();
  const verify = useMutation({
    mutationFn: () =>
      dataOf(api.POST('/connections/{connection}/verify', { params: { path: { connection: connection.name } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['connections'] }),
  });
  const { hosts, jump, quota, sshKey } = connection;
  return (
    <>
      <Panel
        title={<>{verdictOf(connection)}</>}
        side={
          mayDo('admin', '*') ? (
            <Button onClick={() => verify.mutate()} disabled={verify.isPending}>
              Look again
            </Button>
          ) : undefined
        }
      >
        <Failure error={verify.error} />
        {connection.problem === '' ? null : <p className="sentence">{connection.problem}</p>}
        <dl className="facts">
          <dt>Provider</dt>
          <dd>
            {connection.provider} {connection.region} {connection.zone}
          </dd>
          <dt>Offers</dt>
          <dd>
            {connection.verified === null
              ? '–'
              : `${counted(connection.verified.specs, 'machine size')}, zones ${connection.verified.zones.join(', ')}`}
          </dd>
          {connection.namespaces === undefined ? null : (
            <>
              <dt>For namespaces</dt>
              <dd>{connection.namespaces.join(', ')}</dd>
            </>
          )}
          {jump === undefined || jump === null ? null : (
            <>
              <dt>Jump host</dt>
              <dd className="num">
                {jump.user}@{jump.address}:{jump.port}
              </dd>
            </>
          )}
          {quota === undefined ? null : (
            <>
              <dt>Quota</dt>
              <dd className="num">
                {Object.entries(quota)
                  .map(([what, limit]) => `${what} ${String(limit)}`)
                  .join(', ')}
              </dd>
            </>
          )}
          {sshKey === undefined ? null : (
            <>
              <dt>SSH key</dt>
              <dd>known to the hosts</dd>
            </>
          )}
        </dl>
      </Panel>
      {hosts === undefined ? null : <Hosts hosts={hosts} />}
    </>
  );
};

type Host = NonNullable<Connection['hosts']>[number];

/** The checks of a host, with the titles of their columns. */
const CHECKS = [
  ['ssh', 'SSH'],
  ['hostKey', 'Host key'],
  ['root', 'sudo'],
  ['clock', 'Clock'],
  ['disk', 'Disk'],
  ['system', 'System'],
  ['address', 'Address'],
  ['clean', 'Clean'],
] as const satisfies readonly (readonly [keyof Host['checks'], string])[];

/** Passed, failed with the reason, or not checked. */
const Check = ({ found, beside }: { readonly found: string | undefined; readonly beside: string }) => {
  if (found === undefined) return <span className="dim">not checked</span>;
  if (found === '') return <State state="verified" word={beside === '' ? 'passed' : `passed, ${beside}`} />;
  return (
    <span title={found}>
      <State state="failed" word="failed" />
    </span>
  );
};

/** Each host with the result of every check, and why it is kept out. */
const Hosts = ({ hosts }: { readonly hosts: NonNullable<Connection['hosts']> }) => (
  <Panel title="Hosts">
    <Table
      label="Hosts"
      head={['Host', 'State', ...CHECKS.map(([, title]) => title), 'Why', 'Cluster', 'Last tenant', 'Reached at']}
    >
      {hosts.map((host) => (
        <tr key={host.name}>
          <td className="nowrap">{host.name}</td>
          <td>
            <State state={host.state} />
          </td>
          {CHECKS.map(([check]) => (
            <td key={check} className="nowrap" title={check === 'hostKey' ? host.hostKey?.fingerprint : undefined}>
              <Check found={host.checks[check]} beside={check === 'hostKey' ? (host.hostKey?.source ?? '') : ''} />
            </td>
          ))}
          <td className="wrap">
            {host.problem}
            {host.warning === '' ? null : <span className="tone-warning"> {host.warning}</span>}
          </td>
          <td>{host.cluster === '' ? '–' : host.cluster}</td>
          <td>{host.lastNamespace === '' ? '–' : host.lastNamespace}</td>
          <td className="num">
            {host.address} {host.zone}
          </td>
        </tr>
      ))}
    </Table>
  </Panel>
);
