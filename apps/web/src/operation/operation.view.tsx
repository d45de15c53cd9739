import { useQuery } from '@tanstack/react-query';
import { CAUSE_WORDS, lanesOf, totalsOf, type Segment, type Track } from '@fairlead/domain';
import { scaleLinear } from 'd3-scale';
import { useState } from 'react';
import { api, dataOf, type Operation, type Schemas } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { ClusterTabs } from '../cluster/cluster.tabs.js';
import { NextActions, useOperations } from '../cluster/operations.js';
import { actorText, clockText, durationText } from '../format.js';
import { useEvents } from '../live.js';
import { UpgradeControl } from '../plan/upgrade.control.js';
import { Ago, Clock, clusterPath, Empty, Failure, Icon, Link, Loading, Panel, State, Table, useNow } from '../ui/ui.js';

type EventItem = Schemas['Event'];
const EVENTS_MAX = 1_000;

/** An operation as a score: a lane for each node, each second of it belongs to one cause. */
const OperationView = ({ namespace, cluster, operation }: ClusterAt & { readonly operation: string }) => {
  const operations = useOperations({ namespace, cluster });
  const found = operations.data?.items.find(({ id }) => id === operation);
  const events = useOperationEvents({ namespace, cluster }, found);
  const usual = useDurations();
  const usualCauses = useCauses(found?.kind);
  useEvents(
    `ns/${encodeURIComponent(namespace)}/clusters/${encodeURIComponent(cluster)}/events/stream`,
    found?.seq,
    'cluster',
  );
  return (
    <div className="view">
      <header className="view-head">
        <h1>
          <Link to={clusterPath(namespace, cluster, 'operations')} className="crumb">
            {namespace}/{cluster}
          </Link>
          <Icon name="next" /> {found?.kind ?? 'operation'}
        </h1>
        {found === undefined ? null : (
          <State state={found.phase === 'Running' ? 'running' : found.phase} word={found.phase} />
        )}
      </header>
      <ClusterTabs namespace={namespace} cluster={cluster} tab="operations" />
      <Failure error={operations.error ?? events.error} />
      {operations.data === undefined ? <Loading what="the operation" /> : null}
      {operations.data !== undefined && found === undefined ? (
        <Empty title="There is no such operation on this cluster." />
      ) : null}
      {found === undefined ? null : (
        <>
          {found.kind === 'upgrade' ? <UpgradeControl place={{ namespace, cluster }} operation={found} /> : null}
          {events.data === undefined ? (
            <Loading what="the timeline" />
          ) : (
            <Score
              operation={found}
              events={events.data}
              expected={usual.find((one) => one.operation === found.kind && one.count > 1)?.medianMs}
              usual={usualCauses}
              place={{ namespace, cluster }}
            />
          )}
          <Failures operation={found} />
          <NextActions actions={found.nextActions} />
          <Steps operation={found} />
        </>
      )}
    </div>
  );
};
export default OperationView;

const DURATIONS_STALE_MS = 60_000;

/** How long operations took in this installation. */
const useDurations = (): Schemas['FleetDurations']['items'] =>
  useQuery({
    queryKey: ['durations'],
    queryFn: () => dataOf(api.GET('/fleet/durations')),
    staleTime: DURATIONS_STALE_MS,
  }).data?.items ?? [];

type Usual = Schemas['FleetCauses']['items'];

/** How long nodes spent with each cause in operations of this kind; a single one says nothing of what is usual. */
const useCauses = (operation: Operation['kind'] | undefined): Usual => {
  const { data } = useQuery({
    queryKey: ['causes', operation],
    enabled: operation !== undefined,
    queryFn: () => dataOf(api.GET('/fleet/causes', { params: { query: { operation: operation! } } })),
    staleTime: DURATIONS_STALE_MS,
  });
  return data === undefined || data.operations < 2 ? [] : data.items;
};

/** A few nodes say nothing of what is usual. */
const NODES_MIN = 2;

const usualOf = (usual: Usual, cause: Segment['cause']): Usual[number] | undefined =>
  usual.find((one) => one.cause === cause && one.count >= NODES_MIN);

/** The causes that most nodes had, in their order. */
const commonIn = (usual: Usual): Usual => {
  const most = Math.max(...usual.map(({ count }) => count));
  return usual.filter(({ cause, count }) => count >= NODES_MIN && count * 2 > most && cause !== 'done');
};

const usualText = (found: Usual[number] | undefined, ms: number): string => {
  if (found === undefined) return '';
  const text = `usually ${durationText(found.medianMs)} here`;
  return ms > found.longMs ? `${text}, and on nine of ten nodes at most ${durationText(found.longMs)}` : text;
};

/** The events from its request on, up to its end. */
const useOperationEvents = ({ namespace, cluster }: ClusterAt, operation: Operation | undefined) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'score', operation?.id],
    enabled: operation !== undefined,
    queryFn: async () => {
      const end = operation?.finishedAt ?? undefined;
      const found: EventItem[] = [];
      for (let after = (operation?.seq ?? 1) - 1; ;) {
        const { items, next } = await dataOf(
          api.GET('/ns/{namespace}/clusters/{cluster}/events', {
            params: { path: { namespace, cluster }, query: { after, limit: EVENTS_MAX } },
          }),
        );
        found.push(...items.filter(({ time }) => end === undefined || Date.parse(time) <= Date.parse(end) + 1_000));
        if (
          next === null ||
          found.length >= 10 * EVENTS_MAX ||
          items.some(({ time }) => end !== undefined && Date.parse(time) > Date.parse(end) + 1_000)
        )
          return found;
        after = next;
      }
    },
  });

const WIDTH = 1_000;

const Score = ({
  operation,
  events,
  expected,
  usual,
  place,
}: {
  readonly operation: Operation;
  readonly events: readonly EventItem[];
  readonly expected: number | undefined;
  readonly usual: Usual;
  readonly place: ClusterAt;
}) => {
  const now = useNow();
  const [picked, setPicked] = useState<{ node: string; segment: Segment } | undefined>(undefined);
  const fromMs = Date.parse(operation.startedAt);
  const toMs = Math.max(fromMs + 1_000, operation.finishedAt === null ? now : Date.parse(operation.finishedAt));
  const nodes = operation.nodes.map(({ name }) => name);
  const lanes = lanesOf(events, nodes, { fromMs, toMs });
  const endMs = Math.max(toMs, expected === undefined ? 0 : fromMs + expected);
  const x = scaleLinear([0, endMs - fromMs], [0, WIDTH]);
  return (
    <Panel
      title="Timeline"
      side={
        <span className="dim num">
          {clockText(fromMs, now)}, {durationText(toMs - fromMs)}
          {expected === undefined ? '' : `; usually ${durationText(expected)} here`} · by {actorText(operation.actor)}
        </span>
      }
    >
      {nodes.length === 0 ? <Empty title="It is not about nodes that exist now; its steps are below." /> : null}
      <div className="score scroll" tabIndex={0} role="region" aria-label="Timeline">
        {expected === undefined ? null : <Expected expected={expected} usual={usual} x={x} />}
        {lanes.map((lane) => (
          <div className="lane" key={lane.node}>
            <span className="lane-name">{lane.node}</span>
            <Bars
              lane={lane}
              fromMs={fromMs}
              x={x}
              usual={usual}
              onPick={(segment) => setPicked({ node: lane.node, segment })}
              isRunning={operation.finishedAt === null}
            />
          </div>
        ))}
        <div className="lane lane-axis">
          <span className="lane-name" />
          <div className="axis dim num" aria-hidden="true">
            {x.ticks(6).map((tick) => (
              <span key={tick} style={{ left: `${(x(tick) / WIDTH) * 100}%` }}>
                {durationText(tick)}
              </span>
            ))}
          </div>
        </div>
      </div>
      {picked === undefined ? null : (
        <p className="picked" role="status">
          <strong>{picked.node}</strong> {CAUSE_WORDS[picked.segment.cause]} for{' '}
          {durationText(picked.segment.toMs - picked.segment.fromMs)}
          <Beside usual={usual} segment={picked.segment} />
          {picked.segment.event === undefined ? (
            '.'
          ) : (
            <>
              : {picked.segment.event.sentence}{' '}
              <Link
                to={clusterPath(place.namespace, place.cluster, 'audit')}
                query={{ event: picked.segment.event.seq }}
                className="num"
              >
                event {picked.segment.event.seq}
              </Link>
            </>
          )}
        </p>
      )}
      <Totals lanes={lanes} usual={usual} />
    </Panel>
  );
};

/** How long such an operation usually takes, and what a node usually spends that time with. */
const Expected = ({
  expected,
  usual,
  x,
}: {
  readonly expected: number;
  readonly usual: Usual;
  readonly x: (ms: number) => number;
}) => {
  const common = commonIn(usual);
  const total = common.reduce((sum, { medianMs }) => sum + medianMs, 0);
  let passed = 0;
  return (
    <div className="lane lane-ghost">
      <span className="lane-name dim">usually</span>
      <div className="bars">
        <div className="ghost" style={{ width: `${(x(expected) / WIDTH) * 100}%` }} />
        {common.map(({ cause, medianMs }) => {
          // Medians of causes need not add up to the median of operations.
          const share = (x(expected) / WIDTH) * 100 * (medianMs / total);
          const left = passed;
          passed += share;
          return (
            <span
              key={cause}
              className={`bar is-usual cause-${cause}`}
              style={{ left: `${left}%`, width: `${share}%` }}
              title={`${CAUSE_WORDS[cause]}, usually ${durationText(medianMs)}`}
            />
          );
        })}
      </div>
    </div>
  );
};

const Beside = ({ usual, segment }: { readonly usual: Usual; readonly segment: Segment }) => {
  const [found, ms] = [usualOf(usual, segment.cause), segment.toMs - segment.fromMs];
  if (found === undefined) return null;
  return <span className={ms > found.longMs ? 'tone-warning' : 'dim'}> ({usualText(found, ms)})</span>;
};

const Bars = ({
  lane,
  fromMs,
  x,
  usual,
  onPick,
  isRunning,
}: {
  readonly lane: Track;
  readonly fromMs: number;
  readonly x: (ms: number) => number;
  readonly usual: Usual;
  readonly onPick: (segment: Segment) => void;
  readonly isRunning: boolean;
}) => (
  <div className="bars">
    {lane.segments.map((segment, index) => {
      const left = (x(segment.fromMs - fromMs) / WIDTH) * 100;
      const width = (x(segment.toMs - segment.fromMs) / WIDTH) * 100;
      const isOpen = isRunning && index === lane.segments.length - 1 && segment.cause !== 'done';
      const ms = segment.toMs - segment.fromMs;
      const beside = usualText(usualOf(usual, segment.cause), ms);
      const text = `${CAUSE_WORDS[segment.cause]}, ${durationText(ms)}${beside === '' ? '' : `; ${beside}`}`;
      return (
        <button
          key={`${segment.cause} ${segment.fromMs}`}
          type="button"
          className={`bar cause-${segment.cause} ${isOpen ? 'is-open' : ''}`}
          style={{ left: `${left}%`, width: `max(2px, ${width}%)` }}
          title={text}
          aria-label={`${segment.cause}, ${lane.node}: ${text}`}
          onClick={() => onPick(segment)}
        >
          {width > 9 ? <span>{segment.cause}</span> : null}
        </button>
      );
    })}
  </div>
);

const Totals = ({ lanes, usual }: { readonly lanes: readonly Track[]; readonly usual: Usual }) => {
  const totals = totalsOf(lanes);
  if (totals.length === 0) return null;
  return (
    <ul className="totals">
      {totals.map(([cause, ms]) => (
        <li key={cause}>
          <i className={`swatch cause-${cause}`} /> {CAUSE_WORDS[cause]}{' '}
          <span className="num dim">
            {durationText(ms)}
            <UsualEach found={usualOf(usual, cause)} />
          </span>
        </li>
      ))}
    </ul>
  );
};

const UsualEach = ({ found }: { readonly found: Usual[number] | undefined }) =>
  found === undefined ? null : <> (usually {durationText(found.medianMs)} for each node)</>;

/** Pinned until their cause ends, each with its attempt and the next one. */
const Failures = ({ operation }: { readonly operation: Operation }) => {
  const open = operation.steps.flatMap(({ failure }) => failure ?? []);
  if (operation.failures.length === 0 && operation.message === '') return null;
  return (
    <Panel
      title={open.length > 0 ? 'Failures, not ended yet' : 'Failed attempts'}
      className={open.length > 0 ? 'panel-alert' : ''}
    >
      {operation.message === '' ? null : <p className="sentence">{operation.message}</p>}
      <ul className="failures">
        {operation.failures.toReversed().map((failure) => (
          <li key={`${failure.at} ${failure.step} ${failure.node ?? ''}`}>
            <Icon name="error" /> {failure.node === null ? '' : <strong>{failure.node} </strong>}
            {failure.sentence}{' '}
            <span className="dim">
              <Clock at={failure.at} />, attempt {failure.attempt} of {failure.attemptsMax}
              {failure.nextAttemptAt === null ? (
                ''
              ) : (
                <>
                  , next <Ago at={failure.nextAttemptAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
};

const Steps = ({ operation }: { readonly operation: Operation }) => (
  <Panel title="Steps">
    <Table label="Steps" head={['Step', 'Part', 'State', 'Nodes', 'Started', 'Duration', 'Result']}>
      {operation.steps.map((step) => (
        <tr key={step.name}>
          <td>{step.title}</td>
          <td className="dim">{step.group}</td>
          <td>
            <State state={step.state === 'waiting' ? 'Planned' : step.state} word={step.state} />
          </td>
          <td className="num">{step.done === null || step.total === null ? '' : `${step.done}/${step.total}`}</td>
          <td className="num dim">
            <Clock at={step.startedAt} />
          </td>
          <td className="num">{step.durationMs === null ? '–' : durationText(step.durationMs)}</td>
          <td className="wrap">{step.note}</td>
        </tr>
      ))}
    </Table>
  </Panel>
);
