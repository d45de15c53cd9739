import type { Fetch } from './trusting.fetch.js';
import { CliFailure, wordsOf } from '../failures.js';
import { changeContext } from '../instance/contexts.store.js';
import type { Io } from '../io/io.js';
import { refreshed } from './issuer.effects.js';
import { isFresh, type SignedIn } from '../instance/signed.in.js';

type Surroundings = Pick<Io, 'env' | 'now'>;

const ended = (context: string, cause?: unknown): CliFailure =>
  new CliFailure('unauthorised', {
    code: 'cli.sign-in-ended',
    message: `The sign-in of the context ${context} has ended`,
    help: `Sign in again with "fairlead login ${context}".`,
    cause,
  });

/** The sign-in of the context with a token that is good for a while; another command may have refreshed it. */
const renewed = async (io: Surroundings, name: string, before: SignedIn): Promise<SignedIn> => {
  let signedIn: SignedIn | undefined;
  await changeContext(io, name, async (context) => {
    signedIn = context.signedIn;
    const isRenewed = signedIn !== undefined && signedIn.token !== before.token && isFresh(signedIn, io.now());
    if (signedIn === undefined || isRenewed) return context;
    signedIn = await refreshed(signedIn, io.now());
    return signedIn === undefined ? context : { ...context, signedIn };
  });
  if (signedIn === undefined) throw ended(name);
  return signedIn;
};

/** Sends requests with a token of the identity provider that is good, and refreshes it before it ends. */
export const fetchSignedIn = (io: Surroundings, name: string, first: SignedIn, fetch: Fetch): Fetch => {
  let current = first;
  const renew = async (): Promise<void> => {
    try {
      current = await renewed(io, name, current);
    } catch (error) {
      if (Date.parse(current.expiresAt) > io.now() && !(error instanceof CliFailure)) return;
      if (error instanceof CliFailure) throw error;
      throw new CliFailure('unreachable', {
        code: 'cli.issuer-unreachable',
        message: `The sign-in of the context ${name} cannot be refreshed at ${current.issuer}: ${wordsOf(error)}`,
        help: 'Try again.',
        cause: error,
      });
    }
  };
  const send = (request: Request): Promise<Response> => {
    const headers = new Headers(request.headers);
    headers.set('authorization', `Bearer ${current.token}`);
    return fetch(new Request(request, { headers }));
  };
  return async (request) => {
    if (!request.headers.has('authorization')) return fetch(request);
    if (!isFresh(current, io.now())) await renew();
    const again = request.method === 'GET' || request.headers.has('idempotency-key') ? request.clone() : undefined;
    const answer = await send(request);
    const before = current.token;
    if (answer.status !== 401 || again === undefined) return answer;
    await renew();
    if (current.token === before) return answer;
    await answer.body?.cancel();
    return send(again);
  };
};
