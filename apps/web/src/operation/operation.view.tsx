import { useQuery } from '@tanstack/react-query';
import { scaleLinear } from 'd3-scale';
import { useState } from 'react';
import { api, dataOf, type Operation, type Schemas } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { NextActions, useOperations } from '../cluster/operations.js';
import { actorText, clockText, durationText } from '../format.js';
import { useEvents } from '../live.js';
import { UpgradeControl } from '../plan/upgrade.control.js';
import { Ago, Clock, clusterPath, Empty, Failure, Icon, Link, Loading, Panel, State, Table, useNow } from '../ui/ui.js';
import { CAUSE_WORDS, lanesOf, totalsOf, type Track, type Segment } from './score.js';

type EventItem = Schemas['Event'];
const EVENTS_MAX = 1_000;

/** An operation as a score: a lane for each node, each second of it belongs to one cause. */
const OperationView = ({ namespace, cluster, operation }: ClusterAt & { readonly operation: string }) => {
  const operations = useOperations({ namespace, cluster });
  const found = operations.data?.items.find(({ id }) => id === operation);
  const events = useOperationEvents({ namespace, cluster }, found);
  const usual = useDurations();
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

const LANE = 22;
const WIDTH = 1_000;

const Score = ({
  operation,
  events,
  expected,
  place,
}: {
  readonly operation: Operation;
  readonly events: readonly EventItem[];
  readonly expected: number | undefined;
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
        {expected === undefined ? null : (
          <div className="lane lane-ghost">
            <span className="lane-name dim">usually</span>
            <svg viewBox={`0 0 ${WIDTH} ${LANE}`} preserveAspectRatio="none" aria-hidden="true">
              <rect className="ghost" x={0} y={6} width={x(expected)} height={LANE - 12} />
            </svg>
          </div>
        )}
        {lanes.map((lane) => (
          <div className="lane" key={lane.node}>
            <span className="lane-name">{lane.node}</span>
            <Bars
              lane={lane}
              fromMs={fromMs}
              x={x}
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
      <Totals lanes={lanes} />
    </Panel>
  );
};

const Bars = ({
  lane,
  fromMs,
  x,
  onPick,
  isRunning,
}: {
  readonly lane: Track;
  readonly fromMs: number;
  readonly x: (ms: number) => number;
  readonly onPick: (segment: Segment) => void;
  readonly isRunning: boolean;
}) => (
  <div className="bars">
    {lane.segments.map((segment, index) => {
      const left = (x(segment.fromMs - fromMs) / WIDTH) * 100;
      const width = (x(segment.toMs - segment.fromMs) / WIDTH) * 100;
      const isOpen = isRunning && index === lane.segments.length - 1 && segment.cause !== 'done';
      const text = `${CAUSE_WORDS[segment.cause]}, ${durationText(segment.toMs - segment.fromMs)}`;
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

const Totals = ({ lanes }: { readonly lanes: readonly Track[] }) => {
  const totals = totalsOf(lanes);
  if (totals.length === 0) return null;
  return (
    <ul className="totals">
      {totals.map(([cause, ms]) => (
        <li key={cause}>
          <i className={`swatch cause-${cause}`} /> {CAUSE_WORDS[cause]}{' '}
          <span className="num dim">{durationText(ms)}</span>
        </li>
      ))}
    </ul>
  );
};

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
