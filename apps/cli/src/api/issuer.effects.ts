import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import { fetchTrusting } from './trusting.fetch.js';
import { CliFailure, wordsOf } from '../failures.js';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import type { Io } from '../io/io.js';
import { deadlineAfter } from '../time/deadline.js';
import type { SignedIn } from '../instance/signed.in.js';

const TIMEOUT_SECONDS = 5;
const MS_PER_SECOND = 1_000;
const CALLBACK = '/callback';
const SIGN_IN_WITHIN_MS = 10 * 60_000;
const TOKEN_LENGTH_MAX = 65_536;

/** What the server says about its issuer. */
export interface IssuerAccess extends Pick<SignedIn, 'issuer' | 'clientId' | 'ca' | 'bearer'> {
  readonly scopes: string;
}

type Terminal = Pick<Io, 'err' | 'interrupts' | 'now'>;

/** Loaded when it is needed: most commands never ask an issuer. */
const library = () => import('openid-client');

const configurationOf = async ({
  issuer,
  clientId,
  ca,
}: Pick<SignedIn, 'issuer' | 'clientId' | 'ca'>): Promise<Configuration> => {
  const oidc = await library();
  const fetch = fetchTrusting(ca);
  return oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
    [oidc.customFetch]: (url, options) => fetch(new Request(url, options as RequestInit)),
    timeout: TIMEOUT_SECONDS,
  });
};

const stored = (access: Omit<IssuerAccess, 'scopes'>, answer: TokenEndpointResponse, nowMs: number): SignedIn => {
  const { issuer, clientId, ca, bearer } = access;
  const token = bearer === 'id' ? answer.id_token : answer.access_token;
  if (token === undefined) throw new Error(`it grants no ${bearer} token`);
  return {
    issuer,
    clientId,
    ...(ca === undefined ? {} : { ca }),
    bearer,
    token,
    expiresAt: new Date(endOf(token, answer, nowMs)).toISOString(),
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
  };
};

/** The `exp` of the token; the server is who verifies it. */
export const endOf = (token: string, { expires_in: seconds = 0 }: TokenEndpointResponse, nowMs: number): number => {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  const claims = parseJsonOrUndefined(payload, { lengthMax: TOKEN_LENGTH_MAX });
  const exp = typeof claims === 'object' && claims !== null && 'exp' in claims ? claims.exp : undefined;
  if (typeof exp === 'number') return exp * MS_PER_SECOND;
  return nowMs + seconds * MS_PER_SECOND;
};

const failure = ({ issuer }: Pick<SignedIn, 'issuer'>, error: unknown): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.sign-in-failed',
    message: `The identity provider ${issuer} did not sign you in: ${wordsOf(error)}`,
    help: 'Try again; if it persists, ask the administrator of the server about its OpenID Connect settings.',
    cause: error,
  });

const asked = async <Answer>(io: Pick<Io, 'interrupts'>, access: IssuerAccess, ask: () => Promise<Answer>) => {
  try {
    return await ask();
  } catch (error) {
    if (io.interrupts.first.aborted || error instanceof CliFailure) throw error;
    throw failure(access, error);
  }
};

/** Prints an address and a code, and waits until the user has signed in with them on any device (RFC 8628). */
export const signInByDevice = (io: Terminal, access: IssuerAccess): Promise<SignedIn> =>
  asked(io, access, async () => {
    const oidc = await library();
    const configuration = await configurationOf(access);
    const device = await oidc.initiateDeviceAuthorization(configuration, { scope: access.scopes });
    const address = device.verification_uri_complete ?? device.verification_uri;
    io.err(`Open ${address}\nin any browser, and sign in with the code ${device.user_code}\n`);
    const answer = await oidc.pollDeviceAuthorizationGrant(configuration, device, undefined, {
      signal: io.interrupts.first,
    });
    return stored(access, answer, io.now());
  });

const PAGE = `<!doctype html><title>Fairlead</title><p>Go back to the terminal; this page can be closed.</p>`;

/** Listens on the loopback address until the browser comes back with an answer of this sign-in. */
const answerAtLoopback = async (
  { interrupts }: Pick<Io, 'interrupts'>,
  state: string,
  begin: (redirectUri: string) => Promise<void>,
): Promise<URL> => {
  const server = createServer();
  await new Promise<void>((settle, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', settle);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const late = deadlineAfter(SIGN_IN_WITHIN_MS);
  const over = AbortSignal.any([interrupts.first, late.signal]);
  try {
    const came = new Promise<URL>((settle, reject) => {
      over.addEventListener('abort', () => reject(over.reason as Error), { once: true });
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const url = new URL(request.url ?? '/', origin);
        const isAnswer = url.pathname === CALLBACK && url.searchParams.get('state') === state;
        response.writeHead(isAnswer ? 200 : 404, { 'content-type': 'text/html; charset=utf-8', connection: 'close' });
        response.end(isAnswer ? PAGE : '');
        if (isAnswer) settle(url);
      });
    });
    came.catch(() => undefined);
    await begin(`${origin}${CALLBACK}`);
    return await came;
  } finally {
    late.clear();
    server.close();
    server.closeAllConnections();
  }
};

/** Prints an address for a browser on this machine, which comes back over loopback (RFC 8252) with PKCE (RFC 7636). */
export const signInByBrowser = (io: Terminal, access: IssuerAccess): Promise<SignedIn> =>
  asked(io, access, async () => {
    const oidc = await library();
    const configuration = await configurationOf(access);
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const challenge = await oidc.calculatePKCECodeChallenge(verifier);
    const url = await answerAtLoopback(io, state, async (redirectUri) => {
      const address = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: access.scopes,
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      io.err(`Open ${address.href}\nin a browser on this machine\n`);
    });
    const answer = await oidc.authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    return stored(access, answer, io.now());
  });

/** undefined: the issuer refuses, since the sign-in has ended there. */
export const refreshed = async (signedIn: SignedIn, nowMs: number): Promise<SignedIn | undefined> => {
  const { refreshToken } = signedIn;
  if (refreshToken === undefined) return undefined;
  const oidc = await library();
  try {
    const configuration = await configurationOf(signedIn);
    const answer = await oidc.refreshTokenGrant(configuration, refreshToken);
    return { refreshToken, ...stored(signedIn, answer, nowMs) };
  } catch (error) {
    if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant') return undefined;
    throw error;
  }
};

/** Ends the sign-in at the issuer. False: it cannot. */
export const revoked = async (signedIn: SignedIn): Promise<boolean> => {
  if (signedIn.refreshToken === undefined) return false;
  const oidc = await library();
  const configuration = await configurationOf(signedIn);
  if (configuration.serverMetadata().revocation_endpoint === undefined) return false;
  await oidc.tokenRevocation(configuration, signedIn.refreshToken);
  return true;
};
