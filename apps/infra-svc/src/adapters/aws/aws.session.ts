import { ExternalFailure, PROVIDER_REFUSED, wordsOf, type AwsSettings } from '@fairlead/contracts';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import * as z from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import { withoutSecrets } from '../secret.words.js';
import { boundedHandler, NotAws } from './aws.exchange.js';
import type { ActionOf, InputOf, Service } from './aws.sdk.js';
import { isNotFound, isThrottled, isTransient, sentenceOf, verdictOf, type AwsError } from './aws.verdicts.js';

export interface AwsLimits {
  /** Limit of concurrent calls. */
  readonly callsMax: number;
  readonly timeoutMs: number;
  /** The polling interval of creations and deletions. */
  readonly pollMs?: number;
  /** The first of the delays before a call is repeated, which double. */
  readonly waitFirstMs?: number;
}

export interface AwsPlace {
  readonly connection: string;
  readonly region: string;
  /** Empty: any zone of the region. */
  readonly zone: string;
  readonly settings: AwsSettings;
}

export interface AwsCall {
  readonly operation: ProviderOperation;
  readonly service: Service;
  readonly action: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
}

interface Client {
  send(command: unknown, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
}
type Command = new (input: unknown) => unknown;
interface Opened {
  readonly client: Client;
  readonly actions: Readonly<Record<string, Command>>;
}

/** How often a call is repeated at most, and the longest delay before it. */
const REPEATS_MAX = 3;
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 10_000;
const POLL_MS = 2_000;
const PAGES_MAX = 200;
const ITEMS_MAX = 10_000;
const UNRESOLVED: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/** A failure of AWS with its code, on which a caller may decide. */
export class AwsFailure extends ExternalFailure {
  constructor(
    readonly error: AwsError,
    at: ConstructorParameters<typeof ExternalFailure>[0],
  ) {
    super(at);
  }
}

/** Undefined for what does not exist, or not yet everywhere. */
export const foundOr = async <Answer>(answer: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AwsFailure && isNotFound(error.error)) return undefined;
    throw error;
  }
};

/** A session for one connection: clients of the SDK that are loaded with the first call. */
export class AwsSession {
  private readonly limit: LimitFunction;
  private opened: Promise<Readonly<Record<Service, Opened>>> | undefined;

  constructor(
    readonly at: AwsPlace,
    private readonly secret: string | undefined,
    readonly limits: AwsLimits,
  ) {
    this.limit = pLimit(limits.callsMax);
  }

  async ask<Answer>(call: AwsCall, answer: z.ZodType<Answer>): Promise<Answer> {
    for (let repeats = 0; ; repeats += 1) {
      call.signal.throwIfAborted();
      try {
        return this.read(call, await this.limit(() => this.send(call)), answer);
      } catch (error) {
        call.signal.throwIfAborted();
        if (error instanceof ExternalFailure) throw error;
        const said = errorOf(error);
        if (repeats >= REPEATS_MAX || !mayRepeat(call, said, error)) throw this.failed(call, said, error);
        await this.wait(waitBefore(repeats, this.limits.waitFirstMs ?? WAIT_FIRST_MS), call.signal);
      }
    }
  }

  failure(operation: ProviderOperation, message: string, retryable = true): ExternalFailure {
    return new ExternalFailure(this.because(operation, message, retryable));
  }

  /** The delay between two looks at what AWS is making or deleting. */
  poll(signal: AbortSignal): Promise<void> {
    return this.wait(this.limits.pollMs ?? POLL_MS, signal);
  }

  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, undefined, { signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  }

  private async send({ service, action, input, signal }: AwsCall): Promise<unknown> {
    this.opened ??= this.open().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    const { client, actions } = (await this.opened)[service];
    return client.send(new actions[action]!(input), { abortSignal: signal });
  }

  private async open(): Promise<Readonly<Record<Service, Opened>>> {
    const sdk = await import('./aws.sdk.js');
    const { region, settings } = this.at;
    const { accessKeyId, endpoint } = settings;
    const config = {
      region,
      maxAttempts: 1, // Repeated here, because the SDK repeats creations, too.
      requestHandler: boundedHandler(this.limits.timeoutMs),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(accessKeyId === undefined ? {} : { credentials: { accessKeyId, secretAccessKey: this.secret ?? '' } }),
    };
    return {
      EC2: { client: new sdk.Ec2Client(config) as Client, actions: sdk.EC2_ACTIONS as unknown as Opened['actions'] },
      ELB: { client: new sdk.ElbClient(config) as Client, actions: sdk.ELB_ACTIONS as unknown as Opened['actions'] },
    };
  }

  private read<Answer>(call: AwsCall, given: unknown, answer: z.ZodType<Answer>): Answer {
    const parsed = answer.safeParse(given);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
    const { operation, service, action } = call;
    throw this.failure(operation, `${service} answers ${action} with something else than expected${where}`, false);
  }

  private failed({ operation, service, action }: AwsCall, said: Said, cause: unknown): ExternalFailure {
    const isUnreachable = cause instanceof NotAws && said.status === 0;
    const message = isUnreachable ? this.unreachable(cause) : sentenceOf({ ...said, service, action });
    return new AwsFailure(
      { code: said.code, status: said.status },
      { ...this.because(operation, message, verdictOf(said).retryable), cause },
    );
  }

  private unreachable(cause: NotAws): string {
    const { cause: error } = cause;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const isRegion = UNRESOLVED.has(code) && this.at.settings.endpoint === undefined;
    return isRegion ? `${cause.message}; is ${this.at.region} a region of AWS?` : cause.message;
  }

  private because(operation: ProviderOperation, message: string, retryable: boolean) {
    const said = withoutSecrets(message, this.secret === undefined ? [] : [this.secret]);
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    return { operation, target: this.at.connection, message: said, retryable, reason };
  }
}

interface Said extends AwsError {
  readonly words: string;
}

const textOf = (value: unknown, member: string): string | undefined => {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[member] : undefined;
  return typeof found === 'string' ? found : undefined;
};

/** What the SDK throws, in its terms: classes of exceptions, names that are codes, a status in `$metadata`. */
const errorOf = (error: unknown): Said => {
  if (error instanceof NotAws) return { code: '', status: error.status, words: error.message };
  const thrown = error as { readonly Error?: unknown; readonly $metadata?: { readonly httpStatusCode?: unknown } };
  const status = thrown.$metadata?.httpStatusCode;
  const name = textOf(thrown.Error, 'Code') ?? textOf(thrown, 'Code') ?? textOf(thrown, 'name') ?? '';
  const isSaid = typeof status === 'number';
  return {
    code: isSaid || /^Credentials/.test(name) ? name.replace(/Exception$/, '') : '',
    status: isSaid ? status : 0,
    words: wordsOf(error),
  };
};

/**
 * Throttling means that nothing was done. After a server error only a question is repeated at once; what changes
 * something is looked at first, by the task.
 */
const mayRepeat = ({ action }: AwsCall, said: AwsError, error: unknown): boolean => {
  const { clockSkewCorrected = false } =
    (error as { readonly $metadata?: { readonly clockSkewCorrected?: boolean } }).$metadata ?? {};
  return isThrottled(said) || clockSkewCorrected || (action.startsWith('Describe') && isTransient(said));
};

/** Random, so that many callers that were throttled together do not come back together. */
const waitBefore = (repeats: number, firstMs: number): number =>
  Math.min(firstMs * 2 ** repeats, WAIT_MAX_MS) * (0.5 + Math.random() / 2);

/** Calls of one operation. */
export class AwsCalls {
  constructor(
    readonly session: AwsSession,
    private readonly of: { readonly operation: ProviderOperation; readonly signal: AbortSignal },
  ) {}

  get signal(): AbortSignal {
    return this.of.signal;
  }

  get at(): AwsPlace {
    return this.session.at;
  }

  ec2<Action extends ActionOf<'EC2'>, Answer>(
    action: Action,
    input: InputOf<'EC2', Action>,
    answer: z.ZodType<Answer>,
  ): Promise<Answer> {
    return this.session.ask({ ...this.of, service: 'EC2', action, input }, answer);
  }

  elb<Action extends ActionOf<'ELB'>, Answer>(
    action: Action,
    input: InputOf<'ELB', Action>,
    answer: z.ZodType<Answer>,
  ): Promise<Answer> {
    return this.session.ask({ ...this.of, service: 'ELB', action, input }, answer);
  }

  /** Reads every page of a list of EC2; `key` is its member in the answer. */
  ec2List<Action extends ActionOf<'EC2'>, Item>(
    action: Action,
    input: InputOf<'EC2', Action>,
    key: string,
    item: z.ZodType<Item>,
  ): Promise<readonly Item[]> {
    return this.pages({ service: 'EC2', action, input, page: 'NextToken' }, key, item);
  }

  elbList<Action extends ActionOf<'ELB'>, Item>(
    action: Action,
    input: InputOf<'ELB', Action>,
    key: string,
    item: z.ZodType<Item>,
  ): Promise<readonly Item[]> {
    return this.pages({ service: 'ELB', action, input, page: 'Marker' }, key, item);
  }

  refusal(message: string): ExternalFailure {
    return this.session.failure(this.of.operation, message, false);
  }

  failure(message: string): ExternalFailure {
    return this.session.failure(this.of.operation, message);
  }

  poll(): Promise<void> {
    return this.session.poll(this.signal);
  }

  private async pages<Item>(
    { page, ...asked }: Pick<AwsCall, 'service' | 'action'> & { readonly input: object; readonly page: string },
    key: string,
    item: z.ZodType<Item>,
  ): Promise<readonly Item[]> {
    const Answer = z.object({
      [key]: z.array(item).max(ITEMS_MAX),
      NextToken: z.string().nullish(),
      NextMarker: z.string().nullish(),
    });
    const all: Item[] = [];
    let next: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const input = { ...asked.input, ...(next === undefined ? {} : { [page]: next }) };
      const answer = (await this.session.ask({ ...this.of, ...asked, input }, Answer)) as Record<string, unknown>;
      all.push(...(answer[key] as readonly Item[]));
      next = ((answer['NextToken'] ?? answer['NextMarker']) as string | null | undefined) || undefined;
      if (next === undefined) return all;
    }
    throw this.refusal(`${asked.service} lists more than ${PAGES_MAX} pages of ${key}`);
  }
}
