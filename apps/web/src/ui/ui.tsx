import { useSyncExternalStore, type ComponentProps, type ReactNode } from 'react';
import { Refusal } from '../api.js';
import { clockText, exactText, relativeText } from '../format.js';
import { go, type Query } from '../place.js';
import { hashOf } from '../route.js';
import { ICONS, type IconName } from './icons.js';
import { lookOf, type Look } from './states.js';

export const Icon = ({ name }: { readonly name: IconName }) => ICONS[name];

/** A state: an icon and a word, and colour besides. */
export const State = ({ state, look = lookOf(state), word = state }: { state: string; look?: Look; word?: string }) => (
  <span className={`state tone-${look.tone}`}>
    {ICONS[look.icon]}
    <span>{word}</span>
  </span>
);

let nowMs = Date.now();
const TICK_MS = 1_000;
const nowStore = {
  subscribe: (changed: () => void): (() => void) => {
    const timer = setInterval(() => {
      nowMs = Date.now();
      changed();
    }, TICK_MS);
    return () => clearInterval(timer);
  },
  current: (): number => nowMs,
};
/** The present, every second. */
export const useNow = (): number => useSyncExternalStore(nowStore.subscribe, nowStore.current);

/** A time as a distance from now; the exact one on hover. */
export const Ago = ({ at }: { readonly at: string | null | undefined }) => {
  const now = useNow();
  if (at === null || at === undefined || at === '') return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={exactText(at)}>
      {relativeText(Date.parse(at), now)}
    </time>
  );
};

/** A time of the clock of the reader; the exact one on hover. */
export const Clock = ({ at }: { readonly at: string | null | undefined }) => {
  const now = useNow();
  if (at === null || at === undefined || at === '') return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={exactText(at)}>
      {clockText(Date.parse(at), now)}
    </time>
  );
};

export const Link = ({
  to,
  query,
  children,
  ...rest
}: { readonly to: readonly string[]; readonly query?: Query } & Omit<ComponentProps<'a'>, 'href'>) => (
  <a href={hashOf(to, query)} {...rest}>
    {children}
  </a>
);

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly icon?: IconName;
}
export const Button = ({ look = 'plain', icon, children, ...rest }: ButtonProps) => (
  <button type="button" className={`button button-${look}`} {...rest}>
    {icon === undefined ? null : ICONS[icon]}
    {children}
  </button>
);

export const Loading = ({ what }: { readonly what: string }) => (
  <p className="notice" role="status">
    Loading {what} …
  </p>
);

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <p>{title}</p>
    {children}
  </div>
);

/** What went wrong, in the words of the gateway, and what to do about it. */
export const Failure = ({ error }: { readonly error: unknown }) => {
  if (error === null || error === undefined) return null;
  const isRefusal = error instanceof Refusal;
  return (
    <div className="failure" role="alert">
      <p>
        {ICONS.error} <strong>{error instanceof Error ? error.message : String(error)}</strong>
        {isRefusal ? <code className="code">{error.view.reason}</code> : null}
      </p>
      {isRefusal && error.view.help !== '' ? <p>{error.view.help}</p> : null}
      {isRefusal && error.view.errors.length > 1 ? (
        <ul>
          {error.view.errors.slice(1).map((one) => (
            <li key={`${one.reason} ${one.field ?? ''} ${one.message}`}>
              {one.message} {one.help}
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
};

export const Panel = ({
  title,
  side,
  children,
  className = '',
}: {
  readonly title: ReactNode;
  readonly side?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}) => (
  <section className={`panel ${className}`}>
    <header className="panel-head">
      <h2>{title}</h2>
      {side === undefined ? null : <div className="panel-side">{side}</div>}
    </header>
    {children}
  </section>
);

/** A table that scrolls sideways on narrow screens, by keyboard as well. */
export const Table = ({
  label,
  head,
  children,
}: {
  readonly label: string;
  readonly head: readonly string[];
  readonly children: ReactNode;
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label={label}>
    <table>
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

export const clusterPath = (namespace: string, cluster: string, ...more: readonly string[]): readonly string[] => [
  ...['clusters', namespace, cluster],
  ...more,
];

export { go };
