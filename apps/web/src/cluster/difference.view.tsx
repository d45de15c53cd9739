import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, dataOf } from '../api.js';
import { actorText, clockText, exactText, isPerson } from '../format.js';
import { usePlace, useQueryChange } from '../place.js';
import { Ticks, useActivity, rangeOf, type Range } from '../fleet/time.slider.js';
import { Clock, clusterPath, Empty, Failure, Icon, Link, Loading, Panel } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';
import { byCause, type CausedChange } from './difference.js';

const STEPS = 1_000;

/** How the cluster differs between two moments, by the events that made the difference, each with its actor. */
export const Difference = ({ place }: { readonly place: ClusterAt }) => {
  const { namespace, cluster } = place;
  const { query } = usePlace();
  const { data: activity } = useActivity(place);
  const range = rangeOf(activity);
  const from = query['from'] ?? (activity === undefined ? undefined : activity.from);
  const to = query['to'] ?? (activity === undefined ? undefined : activity.to);
  const changes = useQuery({
    queryKey: ['cluster', namespace, cluster, 'changes', from, to],
    enabled: from !== undefined && to !== undefined,
    queryFn: () =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}/changes', {
          params: { path: place, query: { from: from ?? '', to: to ?? '' } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const causes = useMemo(() => (changes.data === undefined ? undefined : byCause(changes.data)), [changes.data]);
  return (
    <>
      <Panel title="Between two moments">
        <div className="slider-track">
          <Ticks activity={activity} range={range} />
        </div>
        <Handle name="from" title="From" value={from} range={range} />
        <Handle name="to" title="To" value={to} range={range} />
      </Panel>
      <Failure error={changes.error} />
      {causes === undefined && changes.error === null ? <Loading what="the difference" /> : null}
      {causes?.length === 0 ? <Empty title="The cluster was the same at both moments." /> : null}
      {causes?.map((cause) => (
        <Cause key={cause.event?.seq ?? 0} cause={cause} place={place} />
      ))}
    </>
  );
};

const momentOf = (text: string | undefined, { toMs }: Range): number => {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? toMs : ms;
};

const Handle = ({
  name,
  title,
  value,
  range,
}: {
  readonly name: 'from' | 'to';
  readonly title: string;
  readonly value: string | undefined;
  readonly range: Range;
}) => {
  const change = useQueryChange();
  const [dragged, setDragged] = useState<number | undefined>(undefined);
  const shownMs = dragged ?? momentOf(value, range);
  const settle = (): void => {
    if (dragged !== undefined) change({ [name]: new Date(dragged).toISOString() });
    setDragged(undefined);
  };
  const step = Math.round(((shownMs - range.fromMs) / Math.max(1, range.toMs - range.fromMs)) * STEPS);
  return (
    <label className="handle">
      <span>{title}</span>
      <input
        type="range"
        min={0}
        max={STEPS}
        value={Math.min(STEPS, Math.max(0, step))}
        aria-valuetext={clockText(shownMs, Date.now())}
        onChange={({ target }) =>
          setDragged(Math.round(range.fromMs + (Number(target.value) / STEPS) * (range.toMs - range.fromMs)))
        }
        onPointerUp={settle}
        onKeyUp={settle}
        onBlur={settle}
      />
      <span className="num" title={exactText(new Date(shownMs).toISOString())}>
        {clockText(shownMs, Date.now())}
      </span>
    </label>
  );
};

const Cause = ({ cause: { event, fields }, place }: { readonly cause: CausedChange; readonly place: ClusterAt }) => (
  <Panel
    title={
      event === null ? (
        'By time alone, or more than is traced'
      ) : (
        <>
          {event.sentence}{' '}
          <Link to={clusterPath(place.namespace, place.cluster, 'audit')} query={{ event: event.seq }} className="num">
            event {event.seq}
          </Link>
        </>
      )
    }
    side={
      event === null ? undefined : (
        <span className="dim nowrap">
          <Clock at={event.time} /> {isPerson(event.actor) ? <Icon name="person" /> : null} {actorText(event.actor)}
        </span>
      )
    }
  >
    <ul className="difference">
      {fields.map(({ object, field, before, after }) => (
        <li key={`${object} ${field}`}>
          <span>
            {object} <span className="dim">{field}</span>
          </span>
          <span>
            {before === null ? null : <del>{before}</del>} {after === null ? null : <ins>{after}</ins>}
          </span>
        </li>
      ))}
    </ul>
  </Panel>
);
