import {
  infiniteQueryOptions,
  keepPreviousData,
  useInfiniteQuery,
  usePrefetchInfiniteQuery,
} from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { VList, type VListHandle } from 'virtua';
import { api, dataOf, may, type FleetRow } from '../api.js';
import { counted } from '../format.js';
import { useEvents } from '../live.js';
import { usePlace, useQueryChange } from '../place.js';
import { useMay, useWhoami } from '../session/session.js';
import { Ago, Button, clusterPath, Empty, Failure, Icon, Link, Loading, State } from '../ui/ui.js';
import { keepOrder } from './order.js';
import { TimeSlider } from './time.slider.js';

/** More than a screen shows; the next ones are requested when the reader nears the end. */
const PAGE = 200;
const POLL_MS = 5_000;
const SORTS = [
  ['name', 'Cluster'],
  ['state', 'State'],
  ['version', 'Version'],
  ['nodes', 'Nodes'],
  ['since', 'Since'],
  ['deadline', 'Ends'],
] as const;
type Sort = (typeof SORTS)[number][0];
type Order = 'ascending' | 'descending';

const sortOf = (text: string | undefined): Sort => SORTS.find(([sort]) => sort === text)?.[0] ?? 'name';
const keyOf = ({ namespace, name }: FleetRow): string => `${namespace}/${name}`;

type Query = Readonly<Partial<Record<string, string>>>;

const filterOf = (query: Query) => ({
  sort: sortOf(query['sort']),
  order: (query['order'] === 'descending' ? 'descending' : 'ascending') as Order,
  ...(query['state'] === undefined ? {} : { state: query['state'] }),
  ...(query['search'] === undefined ? {} : { search: query['search'] }),
  ...(query['ns'] === undefined ? {} : { namespace: query['ns'] }),
  ...(query['at'] === undefined ? {} : { at: query['at'] }),
});

const fleetOptions = (filter: ReturnType<typeof filterOf>) =>
  infiniteQueryOptions({
    queryKey: ['fleet', filter],
    queryFn: ({ pageParam, signal }) => {
      const more = pageParam === '' ? {} : { continue: pageParam };
      return dataOf(api.GET('/fleet', { params: { query: { ...filter, limit: PAGE, ...more } }, signal }));
    },
    initialPageParam: '',
    getNextPageParam: (last) => last.metadata?.continue,
  });

/** Requests the first page of the fleet before it is known who is signed in, so that the first view waits for one answer instead of two. */
export const FleetAhead = () => {
  const { query } = usePlace();
  usePrefetchInfiniteQuery(fleetOptions(filterOf(query)));
  return null;
};

const useFleet = () => {
  const { query } = usePlace();
  const { data: who } = useWhoami();
  const filter = filterOf(query);
  const { at } = query;
  const list = useInfiniteQuery({
    ...fleetOptions(filter),
    placeholderData: keepPreviousData,
    // Whoever may read the whole log is told of each event; others look again.
    refetchInterval: at === undefined ? POLL_MS : false,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const isLive = at === undefined && may(who, 'admin', '*');
  const lastSeq = list.data === undefined ? undefined : Math.max(0, ...rows.map((row) => row.lastSeq));
  useEvents(isLive ? 'events/stream' : undefined, lastSeq, 'fleet');
  return { list, rows, filter };
};

/**
 * Requests the next page when a scroll ends near the last row. It looks again whenever a fetch ends: a reader who is at
 * the end while another fetch runs, or whose page is canceled by a newer one, cannot scroll any further to ask again.
 */
const useNextPage = (list: ReturnType<typeof useFleet>['list']) => {
  const handle = useRef<VListHandle>(null);
  const look = () => {
    const { current } = handle;
    if (current === null || !list.hasNextPage || list.isFetching) return;
    const below = current.scrollSize - current.scrollOffset - current.viewportSize;
    if (below < current.viewportSize) void list.fetchNextPage();
  };
  useEffect(() => {
    if (!list.isFetchNextPageError) look();
  });
  return { handle, look };
};

export const FleetView = () => {
  const { list, rows, filter } = useFleet();
  const { handle, look } = useNextPage(list);
  const [isPointed, setPointed] = useState(false);
  const order = useRef<readonly string[]>([]);
  const shown = isPointed ? keepOrder(rows, order.current, keyOf) : rows;
  order.current = shown.map(keyOf);
  const first = list.data?.pages[0];
  return (
    <div className="fleet">
      <header className="view-head">
        <h1>Fleet</h1>
        <Filters counts={first?.counts ?? {}} total={first?.total} />
      </header>
      <Failure error={list.error} />
      {list.data === undefined && list.error === null ? <Loading what="clusters" /> : null}
      {first !== undefined && rows.length === 0 ? (
        <NoClusters isFiltered={Object.keys(first.counts).length > 0} />
      ) : null}
      {rows.length > 0 ? (
        <div
          className={`grid-table ${list.isPlaceholderData ? 'is-old' : ''}`}
          role="table"
          aria-label="Clusters"
          aria-rowcount={first?.total ?? rows.length}
          onPointerEnter={() => setPointed(true)}
          onPointerLeave={() => setPointed(false)}
        >
          <Head sort={filter.sort} order={filter.order} />
          <div className="rows" role="rowgroup">
            <VList ref={handle} onScrollEnd={look}>
              {shown.map((row, index) => (
                <Row key={keyOf(row)} row={row} index={index} at={filter.at} />
              ))}
            </VList>
          </div>
        </div>
      ) : null}
      <TimeSlider />
    </div>
  );
};

const NoClusters = ({ isFiltered }: { readonly isFiltered: boolean }) => {
  const change = useQueryChange();
  const { query } = usePlace();
  const { data: who } = useWhoami();
  const mayDo = useMay();
  if (who?.roles.length === 0)
    return (
      <Empty title={who.signedIn === true ? 'None of your groups has a role here.' : 'This token has no role here.'}>
        <p>Ask an administrator for a role in a namespace. This page shows its clusters as soon as you have one.</p>
      </Empty>
    );
  if (isFiltered || query['search'] !== undefined)
    return (
      <Empty title="No cluster matches.">
        <Button onClick={() => change({ state: undefined, search: undefined, ns: undefined })}>Show all</Button>
      </Empty>
    );
  if (query['at'] !== undefined) return <Empty title="There was no cluster at that moment." />;
  return (
    <Empty title="There are no clusters yet.">
      {who?.roles.some(({ namespace }) => mayDo('operator', namespace)) === true ? (
        <p>
          <Link to={['create']}>Create one</Link>, or apply a manifest with <code>npx fairlead apply -f</code>.
        </p>
      ) : null}
    </Empty>
  );
};

const STATES = ['Failed', 'Degraded', 'Provisioning', 'Maintaining', 'Running', 'Paused', 'Deleting'] as const;

const Filters = ({
  counts,
  total,
}: {
  readonly counts: Readonly<Partial<Record<string, number>>>;
  readonly total: number | undefined;
}) => {
  const { query } = usePlace();
  const change = useQueryChange();
  const all = Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  return (
    <div className="filters">
      <div className="chips" role="group" aria-label="State">
        <button
          type="button"
          className="chip"
          aria-pressed={query['state'] === undefined}
          onClick={() => change({ state: undefined })}
        >
          All <b>{all}</b>
        </button>
        {STATES.filter((state) => counts[state] !== undefined || query['state'] === state).map((state) => (
          <button
            key={state}
            type="button"
            className="chip"
            aria-pressed={query['state'] === state}
            onClick={() => change({ state: query['state'] === state ? undefined : state })}
          >
            <State state={state} /> <b>{counts[state] ?? 0}</b>
          </button>
        ))}
      </div>
      <label className="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder="Name, namespace, version, reason"
          aria-label="Search clusters"
          defaultValue={query['search'] ?? ''}
          onChange={(event) => change({ search: event.target.value })}
        />
      </label>
      <span className="dim count" role="status">
        {total === undefined ? '' : counted(total, 'cluster')}
      </span>
    </div>
  );
};

const Head = ({ sort, order }: { readonly sort: Sort; readonly order: Order }) => {
  const change = useQueryChange();
  const column = (name: Sort, title: string) => (
    <div key={name} role="columnheader" className={`cell cell-${name}`} aria-sort={sort === name ? order : 'none'}>
      <button
        type="button"
        className="sort"
        onClick={() => change({ sort: name, order: sort === name && order === 'ascending' ? 'descending' : undefined })}
      >
        {title}
        {sort === name ? <Icon name={order === 'ascending' ? 'up' : 'down'} /> : null}
      </button>
    </div>
  );
  const [name, state, ...others] = SORTS;
  return (
    <div role="rowgroup">
      <div role="row" className="row row-head">
        {column(...name)}
        {column(...state)}
        <div role="columnheader" className="cell cell-reason">
          Why, and what runs
        </div>
        {others.map(([sortName, title]) => column(sortName, title))}
      </div>
    </div>
  );
};

const Row = ({
  row,
  index,
  at,
}: {
  readonly row: FleetRow;
  readonly index: number;
  readonly at: string | undefined;
}) => {
  const { operation, deadline } = row;
  return (
    <div role="row" className="row" aria-rowindex={index + 2}>
      <div role="cell" className="cell cell-name">
        <Link to={clusterPath(row.namespace, row.name)} query={{ at }}>
          {row.name}
        </Link>
        <span className="dim"> {row.namespace}</span>
      </div>
      <div role="cell" className="cell cell-state">
        <State state={row.state} />
      </div>
      <div role="cell" className="cell cell-reason" title={row.reason}>
        {operation === null ? null : (
          <span className="progress" title={operation.title}>
            <progress value={operation.stepsDone} max={operation.stepsTotal} aria-label={operation.kind} />
            {operation.kind}: {operation.title}
          </span>
        )}
        {operation === null || row.state === 'Degraded' ? row.reason : null}
      </div>
      <div role="cell" className="cell cell-version num">
        {row.version}
      </div>
      <div role="cell" className="cell cell-nodes num">
        <span className={row.nodesReady < row.nodesTotal && row.state !== 'Provisioning' ? 'tone-warning' : ''}>
          {row.nodesReady}/{row.nodesTotal}
        </span>
      </div>
      <div role="cell" className="cell cell-since num dim">
        <Ago at={row.since} />
      </div>
      <div role="cell" className="cell cell-deadline num dim">
        {deadline === null ? (
          '–'
        ) : (
          <>
            {deadline.kind} <Ago at={deadline.at} />
          </>
        )}
      </div>
    </div>
  );
};
