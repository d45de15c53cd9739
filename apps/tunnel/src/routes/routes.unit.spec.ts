import { describe, expect, it } from '@jest/globals';
import { heldSince, routesOf, SESSIONS_PER_NAME_MAX, withoutRoute, withoutSession, withRoute } from './routes.state.js';

const NAME = 'api.demo.example.org';
const at = (second: number): string => `2026-11-29T12:00:${String(second).padStart(2, '0')}Z`;
const sessionsOf = (routes: Parameters<typeof routesOf<string>>[0], name = NAME): readonly string[] =>
  routesOf(routes, name).map(({ session }) => session);

describe('the routes of a tunnel', () => {
  const one = withRoute<string>(new Map(), NAME, { session: 'cp-1', since: at(1) });
  const two = withRoute(one, NAME, { session: 'cp-2', since: at(2) });

  it('have the newest session of a name first, and know since when it is held', () => {
    expect(sessionsOf(two)).toEqual(['cp-2', 'cp-1']);
    expect(heldSince(two, NAME)).toBe(at(1));
  });

  it('have a session of a name once', () =>
    expect(sessionsOf(withRoute(two, NAME, { session: 'cp-1', since: at(3) }))).toEqual(['cp-1', 'cp-2']));

  it('lose a name with its last session', () => {
    expect(sessionsOf(withoutRoute(two, NAME, 'cp-2'))).toEqual(['cp-1']);
    expect(withoutRoute(withoutRoute(two, NAME, 'cp-2'), NAME, 'cp-1').size).toBe(0);
  });

  it('lose all names of a session that ended, and no others', () => {
    const more = withRoute(two, 'web.demo.example.org', { session: 'cp-2', since: at(4) });
    const left = withoutSession(more, 'cp-2');
    expect([...left.keys()]).toEqual([NAME]);
    expect(sessionsOf(left)).toEqual(['cp-1']);
  });

  it('keep a limited number of sessions of a name: the oldest makes room', () => {
    const all = Array.from({ length: SESSIONS_PER_NAME_MAX + 1 }, (_, index) => `s-${index}`);
    const routes = all.reduce((held, session, index) => withRoute(held, NAME, { session, since: at(index) }), one);
    expect(sessionsOf(routes)).toEqual(all.slice(1).toReversed());
  });
});
