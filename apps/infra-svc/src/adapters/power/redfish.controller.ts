import { wordsOf, type PowerState, type RedfishPower } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { deadlineAfter } from '@fairlead/service-kit';
import { timingSafeEqual, X509Certificate } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import * as z from 'zod';
import { exchange, type HttpResponse } from '../provider.exchange.js';
import { withoutSecrets } from '../secret.words.js';
import { powerFailure, type Login, type ManagementController } from './management.controller.js';

/** A system has tens of kilobytes, and a chassis of blades a list of them. */
const ANSWER = { lengthMax: 1_048_576, valuesMax: 20_000 };
const WORDS_MAX = 300;
const CLIENT_ERROR_FIRST = 400;
const UNAUTHORIZED: ReadonlySet<number> = new Set([401, 403]);
const NOT_FOUND = 404;
const SYSTEMS = '/redfish/v1/Systems';

/** The parts of the published schema (DSP8010) that are used; all others are ignored. */
const Members = z.object({ Members: z.array(z.object({ '@odata.id': z.string().max(1_024) })).max(1_000) });
const System = z.object({
  PowerState: z.string().max(64).nullish(),
  Actions: z
    .object({
      '#ComputerSystem.Reset': z.object({
        target: z.string().max(1_024),
        'ResetType@Redfish.AllowableValues': z.array(z.string().max(64)).max(64).optional(),
      }),
    })
    .optional(),
});
type System = z.infer<typeof System>;
const Problem = z.object({
  error: z.object({
    message: z.string().optional(),
    '@Message.ExtendedInfo': z.array(z.object({ Message: z.string().optional() })).optional(),
  }),
});

const STATES: Readonly<Record<string, PowerState>> = { On: 'on', Off: 'off' };
/** The first that a controller allows is used. */
const RESETS = { on: ['On', 'ForceOn'], off: ['ForceOff'] } as const;

/** Its first words. */
export const wordsIn = (text: string): string => {
  const said = Problem.safeParse(parseJsonOrUndefined(text, ANSWER)).data?.error;
  return (said?.['@Message.ExtendedInfo']?.[0]?.Message ?? said?.message ?? '').slice(0, WORDS_MAX);
};

/** An address below the controller itself: credentials are sent nowhere else. */
const pathWithin = (path: string): string | undefined =>
  /^\/redfish\/v1\/[A-Za-z0-9._~:/@!$&'()*+,;=%-]*$/.test(path) && !path.split('/').includes('..') ? path : undefined;

interface RedfishWorld {
  readonly login: Login;
  /** In PEM; absent: those of Node.js. */
  readonly ca?: string | undefined;
  readonly timeoutMs: number;
}

/**
 * A controller with Redfish (DSP0266): documented REST over https, signed in by HTTP Basic, which every Redfish
 * service supports. Its certificate is checked before anything is sent to it.
 */
export class RedfishController implements ManagementController {
  constructor(
    private readonly host: string,
    private readonly power: RedfishPower,
    private readonly world: RedfishWorld,
  ) {}

  async state(signal: AbortSignal): Promise<PowerState | undefined> {
    return STATES[(await this.system(signal)).system.PowerState ?? ''];
  }

  async turn(power: PowerState, signal: AbortSignal): Promise<void> {
    const { system } = await this.system(signal);
    if (STATES[system.PowerState ?? ''] === power) return;
    const reset = system.Actions?.['#ComputerSystem.Reset'];
    if (reset === undefined) throw this.failure('its system has no action Reset', false);
    const target = pathWithin(reset.target);
    if (target === undefined) throw this.failure('its system names an address elsewhere for its action Reset', false);
    const allowed = reset['ResetType@Redfish.AllowableValues'];
    const type = RESETS[power].find((one) => allowed?.includes(one) ?? true);
    if (type === undefined) throw this.failure(`its system does not allow a reset of type ${RESETS[power][0]}`, false);
    await this.ask({ method: 'POST', path: target, body: { ResetType: type } }, signal);
  }

  private async system(signal: AbortSignal): Promise<{ readonly system: System }> {
    const path = this.power.system === undefined ? await this.onlySystem(signal) : `${SYSTEMS}/${this.power.system}`;
    const { status, text } = await this.ask({ method: 'GET', path }, signal);
    if (status === NOT_FOUND) throw this.failure(`it has no system ${path.slice(SYSTEMS.length + 1)}`, false);
    return { system: this.read(System, text) };
  }

  private async onlySystem(signal: AbortSignal): Promise<string> {
    const { status, text } = await this.ask({ method: 'GET', path: SYSTEMS }, signal);
    if (status === NOT_FOUND) throw this.failure('what answers is no Redfish service', false);
    const members = this.read(Members, text).Members.map((member) => member['@odata.id']);
    const [only, ...others] = members;
    if (only === undefined) throw this.failure('it has no system', false);
    if (others.length > 0)
      throw this.failure(`it has ${members.length} systems; name one with power.redfish.system`, false);
    const path = pathWithin(only);
    if (path === undefined) throw this.failure('it names an address elsewhere for its system', false);
    return path;
  }

  private read<Answer>(schema: z.ZodType<Answer>, text: string): Answer {
    const parsed = schema.safeParse(parseJsonOrUndefined(text, ANSWER));
    if (parsed.success) return parsed.data;
    throw this.failure('it answers with something else than Redfish');
  }

  /** Answers with less than 400, or 404 to a question. */
  private async ask(
    { method, path, body }: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { user, password } = this.world.login;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      accept: 'application/json',
      'odata-version': '4.0',
      ...(sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
    };
    const response = await this.exchange(path, { method, headers }, sent, signal);
    const { status, text } = response;
    if (status < CLIENT_ERROR_FIRST || (status === NOT_FOUND && method === 'GET')) return response;
    if (UNAUTHORIZED.has(status)) throw this.failure('it does not accept the user and the password', false);
    throw this.failure(`it answers ${status}${wordsIn(text) === '' ? '' : `: ${wordsIn(text)}`}`);
  }

  private async exchange(
    path: string,
    options: RequestOptions,
    sent: string | undefined,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const late = deadlineAfter(this.world.timeoutMs);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const socket = await this.trusted(either);
      const all = { ...options, createConnection: () => socket, signal: either };
      return await exchange(new URL(path, this.power.url), all, sent, ANSWER.lengthMax).finally(() => socket.destroy());
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw this.failure(`no answer within ${this.world.timeoutMs / 1_000} s`);
      throw this.failure(`it does not answer: ${codeOf(error)}`);
    } finally {
      late.clear();
    }
  }

  /** A connection to the pinned certificate, or one that the CA signed for the name. */
  private trusted(signal: AbortSignal): Promise<TLSSocket> {
    const { url, fingerprint } = this.power;
    const { hostname, port } = new URL(url);
    const name = hostname.replace(/^\[|\]$/g, '');
    const trust =
      fingerprint === undefined
        ? this.world.ca === undefined
          ? {}
          : { ca: this.world.ca }
        : { rejectUnauthorized: false };
    return new Promise((resolve, reject) => {
      const at = { host: name, port: port === '' ? 443 : Number(port), minVersion: 'TLSv1.2' as const };
      const socket = connect({
        ...at,
        ...(/[a-z]/i.test(name) && !name.includes(':') ? { servername: name } : {}),
        ...trust,
      });
      const end = () => socket.destroy(signal.reason as Error);
      signal.addEventListener('abort', end, { once: true });
      socket.once('error', reject);
      socket.once('close', () => signal.removeEventListener('abort', end));
      socket.once('secureConnect', () => {
        if (fingerprint === undefined || isPinned(socket.getPeerCertificate(), fingerprint)) return resolve(socket);
        socket.destroy(new Error('it has another certificate than the pinned one'));
      });
    });
  }

  private failure(message: string, retryable = true): Error {
    const { user, password } = this.world.login;
    const words = withoutSecrets(message, [password, `${user}:${password}`]);
    return powerFailure(this.host, `its management controller: ${words}`, retryable);
  }
}

const isPinned = ({ raw }: PeerCertificate, fingerprint: string): boolean => {
  if (raw === undefined) return false;
  const seen = Buffer.from(new X509Certificate(raw).fingerprint256.replaceAll(':', ''), 'hex');
  const pinned = Buffer.from(fingerprint.replaceAll(':', ''), 'hex');
  return seen.length === pinned.length && timingSafeEqual(seen, pinned);
};

/** The words of errors of a connection contain its address, which users of clusters do not see. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : wordsOf(error);
