import { scaleTime } from 'd3-scale';
import { useMemo, useState } from 'react';
import type { Cluster } from '../api.js';
import { actorText, clockText, durationText, isPerson } from '../format.js';
import { Clock, clusterPath, Empty, Failure, Icon, Link, Loading, Panel, State, useNow } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';
import { useHistory } from './cluster.events.js';
import { lifeOf, STRETCH_WORDS, STRETCHES, type Life, type Mark } from './node.life.js';

const MARK_WORDS: Readonly<Record<Mark['kind'], string>> = {
  boot: 'boot',
  version: 'another version',
  cordon: 'cordon',
  replacement: 'replacement or removal',
  failure: 'failure',
  host: 'host and machine',
};

/** The life of a node on one line, also of one that is gone: boots, versions, cordons and by whom, failures, and what became of it. */
export const NodeLife = ({
  place,
  node,
  view,
}: {
  readonly place: ClusterAt;
  readonly node: string;
  readonly view: Cluster;
}) => {
  const { data, error } = useHistory(place);
  const now = useNow();
  const life = useMemo(() => (data === undefined ? undefined : lifeOf(data, node, Date.now())), [data, node]);
  const present = view.nodes.find(({ name }) => name === node);
  if (error !== null) return <Failure error={error} />;
  if (life === undefined) return <Loading what="the history" />;
  if (life.events.length === 0) return <Empty title={`The history of the cluster has no node ${node}.`} />;
  return (
    <>
      <Panel
        title={
          <>
            {node} {present === undefined ? <State state="Removing" word="gone" /> : <State state={present.phase} />}
          </>
        }
        side={
          <span className="dim num">
            {present === undefined ? '' : `${present.role}, pool ${present.pool}, `}since{' '}
            {clockText(life.bands[0]?.fromMs ?? now, now)}
          </span>
        }
      >
        {present === undefined || present.reason === '' ? null : <p className="sentence">{present.reason}</p>}
        <Line life={life} place={place} />
      </Panel>
      <Panel title="What happened to it">
        <ol className="events">
          {life.events.toReversed().map((event) => (
            <li key={event.seq}>
              <span className="num dim">
                <Clock at={event.time} />
              </span>
              <Link
                to={clusterPath(place.namespace, place.cluster, 'audit')}
                query={{ event: event.seq }}
                className="num"
              >
                {event.seq}
              </Link>
              <span>{event.sentence}</span>
              <span className="dim nowrap">
                {isPerson(event.actor) ? <Icon name="person" /> : null} {actorText(event.actor)}
              </span>
            </li>
          ))}
        </ol>
      </Panel>
    </>
  );
};

const percent = (value: number): string => `${value}%`;

const Line = ({ life: { bands, marks }, place }: { readonly life: Life; readonly place: ClusterAt }) => {
  const [picked, setPicked] = useState<Mark | undefined>(undefined);
  const fromMs = bands[0]?.fromMs ?? 0;
  const toMs = Math.max(fromMs + 1, bands.at(-1)?.toMs ?? 0);
  const x = scaleTime([new Date(fromMs), new Date(toMs)], [0, 100]);
  const used = STRETCHES.filter((one) => bands.some(({ stretch }) => stretch === one));
  return (
    <>
      <div className="life">
        <div className="life-bands">
          {bands.map(({ stretch, fromMs: from, toMs: to }) => (
            <span
              key={`${stretch} ${from}`}
              className={`life-band life-${stretch}`}
              style={{ left: percent(x(from)), width: percent(x(to) - x(from)) }}
              title={`${STRETCH_WORDS[stretch]}, ${durationText(to - from)}`}
            />
          ))}
        </div>
        <div className="life-marks">
          {marks.map((mark) => (
            <button
              key={mark.event.seq}
              type="button"
              className={`life-mark mark-${mark.kind}`}
              style={{ left: percent(x(Date.parse(mark.event.time))) }}
              title={mark.event.sentence}
              aria-label={`${MARK_WORDS[mark.kind]}: ${mark.event.sentence}`}
              onClick={() => setPicked(mark)}
            />
          ))}
        </div>
        <div className="life-axis dim num" aria-hidden="true">
          <span>{clockText(fromMs, toMs)}</span>
          <span>{clockText(toMs, toMs)}</span>
        </div>
      </div>
      <p className="picked" role="status">
        {picked === undefined ? (
          <span className="dim">Each mark is an event; choose one to read it.</span>
        ) : (
          <>
            <Clock at={picked.event.time} /> {picked.event.sentence}{' '}
            <span className="dim">by {actorText(picked.event.actor)}</span>{' '}
            <Link to={clusterPath(place.namespace, place.cluster, 'audit')} query={{ event: picked.event.seq }}>
              why
            </Link>
          </>
        )}
      </p>
      <ul className="totals">
        {used.map((stretch) => (
          <li key={stretch}>
            <i className={`swatch life-${stretch}`} /> {STRETCH_WORDS[stretch]}{' '}
            <span className="num dim">
              {durationText(
                bands
                  .filter((band) => band.stretch === stretch)
                  .reduce((sum, band) => sum + band.toMs - band.fromMs, 0),
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
};
