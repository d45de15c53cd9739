import { createContext, useContext, useMemo, useSyncExternalStore, type ReactNode } from 'react';
import { hashOf, placeOf, type Place } from './route.js';

const subscribe = (changed: () => void): (() => void) => {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
};
const current = (): string => window.location.hash;

const PlaceContext = createContext<Place>({ path: [], query: {} });

export const PlaceProvider = ({ children }: { readonly children: ReactNode }) => {
  const hash = useSyncExternalStore(subscribe, current);
  const place = useMemo(() => placeOf(hash), [hash]);
  return <PlaceContext value={place}>{children}</PlaceContext>;
};

export const usePlace = (): Place => useContext(PlaceContext);

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Goes to a place; `replace`: without a step in the history of the browser. */
export const go = (path: readonly string[], query: Query = {}, replace = false): void => {
  const hash = hashOf(path, query);
  if (!replace) return void (window.location.hash = hash);
  window.history.replaceState(null, '', hash);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
};

/** Changes the query of the present place. */
export const useQueryChange = (): ((change: Query, replace?: boolean) => void) => {
  const { path, query } = usePlace();
  return (change, replace = true) => go(path, { ...query, ...change }, replace);
};
