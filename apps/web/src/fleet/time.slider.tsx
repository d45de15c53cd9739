import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { scaleTime } from 'd3-scale';
import { useEffect, useRef, useState } from 'react';
import { api, dataOf, type Schemas } from '../api.js';
import { clockText, exactText } from '../format.js';
import { usePlace, useQueryChange } from '../place.js';
import { Button } from '../ui/ui.js';

type Activity = Schemas['FleetActivity'];
const CLASSES = ['request', 'decision', 'observation', 'failure'] as const;
const WIDTH = 1_000;
const HEIGHT = 34;
const SETTLE_MS = 60;
const REFRESH_MS = 10_000;
/** An hour in a minute. */
const PLAY_SPEED = 60;
const PLAY_TICK_MS = 250;
const STEPS = 1_000;

export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How busy the log was, of one cluster or of the whole fleet. */
export const useActivity = (filter: { readonly namespace?: string; readonly cluster?: string }) =>
  useQuery({
    queryKey: ['activity', filter],
    queryFn: () => dataOf(api.GET('/fleet/activity', { params: { query: filter } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** Of one cluster, or of the whole fleet: at which moment the view is shown. */
export const TimeSlider = ({ namespace, cluster }: { readonly namespace?: string; readonly cluster?: string }) => {
  const { query } = usePlace();
  const change = useQueryChange();
  const { data } = useActivity({
    ...(namespace === undefined ? {} : { namespace }),
    ...(cluster === undefined ? {} : { cluster }),
  });
  const at = query['at'];
  const [dragged, setDragged] = useState<number | undefined>(undefined);
  const range = rangeOf(data);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const show = (ms: number): void => {
    setDragged(ms);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      change({ at: ms >= range.toMs ? undefined : new Date(ms).toISOString() });
      setDragged(undefined);
    }, SETTLE_MS);
  };
  const [isPlaying, setPlaying] = usePlay(at, range, (ms) =>
    change({ at: ms >= range.toMs ? undefined : new Date(ms).toISOString() }),
  );
  const shownMs = dragged ?? momentOf(at) ?? range.toMs;
  const isLive = at === undefined && dragged === undefined;
  return (
    <section className={`slider ${isLive ? '' : 'is-past'}`} aria-label="Time">
      <div className="slider-head">
        <Button look={isLive ? 'quiet' : 'primary'} onClick={() => change({ at: undefined })} disabled={isLive}>
          {isLive ? 'Live' : 'Back to live'}
        </Button>
        <Button
          look="quiet"
          icon={isPlaying ? 'pause' : 'play'}
          onClick={() => setPlaying(!isPlaying)}
          aria-label={`×${PLAY_SPEED}, ${isPlaying ? 'stop' : 'play'}`}
        >
          ×{PLAY_SPEED}
        </Button>
        <span className="num" title={exactText(new Date(shownMs).toISOString())}>
          {isLive ? 'now' : atText(at, dragged, shownMs)}
        </span>
        <Legend />
      </div>
      <div className="slider-track">
        <Ticks activity={data} range={range} />
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={isLive ? 'now' : new Date(shownMs).toLocaleString('sv')}
          min={0}
          max={STEPS}
          step={1}
          value={stepOf(shownMs, range)}
          onChange={(event) => show(msOf(Number(event.target.value), range))}
        />
      </div>
    </section>
  );
};

const MINUTES_SHOWN_MS = 10 * 60_000;
const DAYS_SHOWN_MS = 2 * 24 * 60 * 60_000;

/** As short as tells ticks apart. */
const tickText = (tick: Date, { fromMs, toMs }: Range): string => {
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = `${two(tick.getHours())}:${two(tick.getMinutes())}`;
  if (toMs - fromMs < MINUTES_SHOWN_MS) return `${time}:${two(tick.getSeconds())}`;
  return toMs - fromMs < DAYS_SHOWN_MS ? time : `${two(tick.getMonth() + 1)}-${two(tick.getDate())} ${time}`;
};

const momentOf = (at: string | undefined): number | undefined => {
  const ms = at === undefined || /^\d+$/.test(at) ? Number.NaN : Date.parse(at);
  return Number.isNaN(ms) ? undefined : ms;
};

const atText = (at: string | undefined, dragged: number | undefined, shownMs: number): string =>
  dragged === undefined && at !== undefined && /^\d+$/.test(at) ? `event ${at}` : clockText(shownMs, Date.now());

export const rangeOf = (activity: Activity | undefined): Range => {
  const now = Date.now();
  const toMs = activity === undefined ? now : Date.parse(activity.to);
  const fromMs = activity === undefined ? now - 60_000 : Date.parse(activity.from);
  return { fromMs: Math.min(fromMs, toMs - 1_000), toMs };
};
const stepOf = (ms: number, { fromMs, toMs }: Range): number =>
  Math.max(0, Math.min(STEPS, Math.round(((ms - fromMs) / (toMs - fromMs)) * STEPS)));
const msOf = (step: number, { fromMs, toMs }: Range): number =>
  step >= STEPS ? toMs : Math.round(fromMs + (step / STEPS) * (toMs - fromMs));

const usePlay = (at: string | undefined, range: Range, show: (ms: number) => void) => {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => {
      const next = (momentOf(at) ?? range.fromMs) + PLAY_SPEED * PLAY_TICK_MS;
      show(next);
      if (next >= range.toMs) setPlaying(false);
    }, PLAY_TICK_MS);
    return () => clearInterval(timer);
  });
  return [isPlaying, setPlaying] as const;
};

const Legend = () => (
  <span className="legend">
    {CLASSES.map((one) => (
      <span key={one}>
        <i className={`swatch event-${one}`} /> {one}
      </span>
    ))}
  </span>
);

/** A stack for each interval, on a scale of roots: one failure is seen beside a hundred decisions. */
export const Ticks = ({ activity, range }: { readonly activity: Activity | undefined; readonly range: Range }) => {
  const x = scaleTime([new Date(range.fromMs), new Date(range.toMs)], [0, WIDTH]);
  const items = activity?.items ?? [];
  const most = Math.max(1, ...items.map((item) => CLASSES.reduce((sum, one) => sum + item[one], 0)));
  const width = Math.max(2, x(range.fromMs + (activity?.bucketSeconds ?? 1) * 1_000) - 1);
  const tall = (count: number): number => (Math.sqrt(count) / Math.sqrt(most)) * HEIGHT;
  return (
    <>
      <svg className="ticks" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {items.map((item) => {
          const total = CLASSES.reduce((sum, one) => sum + item[one], 0);
          const share = tall(total) / total;
          let y = HEIGHT;
          return CLASSES.map((one) => {
            const height = item[one] * share;
            y -= height;
            return height === 0 ? null : (
              <rect
                key={`${item.at}${one}`}
                className={`event-${one}`}
                x={x(Date.parse(item.at))}
                y={y}
                width={width}
                height={Math.max(one === 'failure' ? 3 : 1, height)}
              />
            );
          });
        })}
      </svg>
      <div className="axis dim num" aria-hidden="true">
        {x.ticks(6).map((tick) => (
          <span key={tick.getTime()} style={{ left: `${(x(tick) / WIDTH) * 100}%` }}>
            {tickText(tick, range)}
          </span>
        ))}
      </div>
    </>
  );
};
