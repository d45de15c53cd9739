import { errorCodeOf } from '@fairlead/contracts';
import { StreamFailed } from '@fairlead/api-client';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { exitClassOfStatus } from '../exit-codes.js';
import { CliFailure, wordsOf, type Fault } from '../failures.js';
import type { Access } from './access.js';
import { inCommands } from './commands.text.js';

/** No server answered. */
export const unreachable = ({ server, instance }: Access, error: unknown): CliFailure => {
  const isGone = errorCodeOf(error instanceof Error ? error.cause : undefined) === 'ECONNREFUSED';
  return new CliFailure('unreachable', {
    code: 'cli.unreachable',
    message: isGone ? `No server answers at ${server}` : `${server} cannot be reached: ${wordsOf(error)}`,
    help:
      instance === undefined
        ? 'Check the address (--server, FAIRLEAD_SERVER) and that the gateway runs.'
        : `The Fairlead of ${instance.dataDir} has ended; start it again with "fairlead up".`,
    cause: error,
  });
};

/** The response is not from a Fairlead gateway. */
export const notFairlead = ({ server }: Access, error: unknown): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.not-fairlead',
    message: `${server} does not answer as a Fairlead gateway does: ${wordsOf(error)}`,
    help: 'Check the address (--server, FAIRLEAD_SERVER).',
    cause: error,
  });

interface ErrorBody {
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly help?: unknown;
  readonly field?: unknown;
  readonly errors?: unknown;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/**
 * The gateway's message, code and field, with its help as commands; if several rules were violated, the other faults
 * too.
 */
export const refusalOf = async (response: Response, request: string): Promise<CliFailure> => {
  const body = await errorBodyOf(response);
  const unsaid = `${request} was answered with ${response.status} ${response.statusText}`.trim();
  const { help, ...first } = faultOf(body, { code: `http.${response.status}`, message: unsaid });
  const others = (Array.isArray(body.errors) ? (body.errors as readonly ErrorBody[]) : []).slice(1);
  return new CliFailure(exitClassOfStatus(response.status, textOf(body.reason)), {
    ...first,
    help: help ?? adviceFor(response.status),
    further: others.map((error) => faultOf(error, first)).filter(({ message }) => message !== ''),
  });
};

/** For a response without advice, such as a proxy's page. */
const adviceFor = (status: number): string => {
  if (status === 502 || status === 503 || status === 504)
    return 'Try again in a moment; if it lasts, check that the gateway runs.';
  return status >= 500
    ? 'Try again; if it lasts, see the log of the gateway, which "fairlead support-bundle" collects.'
    : 'Check the address (--server, FAIRLEAD_SERVER) and what stands between it and you.';
};

const faultOf = ({ reason, message, help, field }: ErrorBody, otherwise: Pick<Fault, 'code' | 'message'>): Fault => {
  const advice = textOf(help);
  return {
    code: textOf(reason) ?? otherwise.code,
    message: inCommands(textOf(message)?.trim() ?? otherwise.message),
    help: advice === undefined ? undefined : inCommands(advice),
    field: textOf(field),
  };
};

const ANSWER_LENGTH_MAX = 1_048_576;

export const errorBodyOf = async (response: Pick<Response, 'text'>): Promise<ErrorBody> => {
  const text = await response.text();
  // A proxy's page is not JSON; the status determines the failure.
  const body = parseJsonOrUndefined(text, { lengthMax: ANSWER_LENGTH_MAX });
  return typeof body === 'object' && body !== null ? body : {};
};

/** The failure of an interrupted event stream. */
export const streamFailureOf = (access: Access, error: unknown): unknown => {
  if (!(error instanceof StreamFailed)) return error;
  if (error.status === undefined) return unreachable(access, error);
  const { status, reason, message } = error;
  return new CliFailure(exitClassOfStatus(status, reason), {
    code: reason ?? `http.${status}`,
    message,
    help: adviceFor(status),
    cause: error,
  });
};
