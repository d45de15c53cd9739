/*
 * Which sessions hold which names here. A name may be held by several sessions with the same key: one for each control plane, and
 * those whose wire is cut and who are not known to be gone yet.
 */

/** The control planes of a cluster, and as many again that are replaced or not known to be gone. */
export const SESSIONS_PER_NAME_MAX = 16;

export interface Route<Session> {
  readonly session: Session;
  /** RFC 3339. */
  readonly since: string;
}

/** The newest session of each name is the first: an older one may be dead without a word. */
export type Routes<Session> = ReadonlyMap<string, readonly Route<Session>[]>;

export const routesOf = <Session>(routes: Routes<Session>, name: string): readonly Route<Session>[] =>
  routes.get(name) ?? [];

const having = <Session>(routes: Routes<Session>, name: string, held: readonly Route<Session>[]): Routes<Session> => {
  const others = [...routes].filter(([other]) => other !== name);
  return new Map(held.length === 0 ? others : [...others, [name, held]]);
};

/** The oldest ones make room. */
export const withRoute = <Session>(routes: Routes<Session>, name: string, route: Route<Session>): Routes<Session> => {
  const others = routesOf(routes, name).filter(({ session }) => session !== route.session);
  return having(routes, name, [route, ...others].slice(0, SESSIONS_PER_NAME_MAX));
};

export const withoutRoute = <Session>(routes: Routes<Session>, name: string, session: Session): Routes<Session> =>
  having(
    routes,
    name,
    routesOf(routes, name).filter((route) => route.session !== session),
  );

export const withoutSession = <Session>(routes: Routes<Session>, session: Session): Routes<Session> =>
  [...routes.keys()].reduce((left, name) => withoutRoute(left, name, session), routes);

/** Since when a name is held without interruption, as far as it is known here. */
export const heldSince = <Session>(routes: Routes<Session>, name: string): string | undefined =>
  routesOf(routes, name)
    .map(({ since }) => since)
    .toSorted()[0];
