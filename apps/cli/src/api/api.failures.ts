import { EventsFailed } from '@fairlead/api-client';
import { exitClassOfStatus } from '../exit-codes.js';
import { CliFailure, codeOf, wordsOf } from '../failures.js';
import type { Access } from './access.js';

/** Nobody answered. */
export const unreachable = ({ server, instance }: Access, error: unknown): CliFailure => {
  const isGone = codeOf(error instanceof Error ? error.cause : undefined) === 'ECONNREFUSED';
  return new CliFailure('unreachable', {
    code: 'cli.unreachable',
    message: isGone ? `Nobody answers at ${server}` : `${server} cannot be reached: ${wordsOf(error)}`,
    help:
      instance === undefined
        ? 'Check the address (--server, FAIRLEAD_SERVER) and that the gateway runs.'
        : `The Fairlead of ${instance.dataDir} has ended; start it again with "fairlead up".`,
    cause: error,
  });
};

/** Somebody answered, in words that are no gateway's. */
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

/** The gateway's own sentence, code, field and help; where several rules were broken, the further sentences too. */
export const refusalOf = async (response: Response, request: string): Promise<CliFailure> => {
  const body = await errorBodyOf(response);
  const message = textOf(body.message) ?? `${request} was answered with ${response.status} ${response.statusText}`;
  return new CliFailure(exitClassOfStatus(response.status), {
    code: textOf(body.reason) ?? `http.${response.status}`,
    message: [message.trim(), ...furtherErrorsOf(body.errors)].join('; '),
    help: textOf(body.help),
    field: textOf(body.field),
  });
};

const furtherErrorsOf = (errors: unknown): readonly string[] =>
  (Array.isArray(errors) ? (errors as readonly ErrorBody[]) : [])
    .slice(1)
    .flatMap(({ message }) => textOf(message) ?? []);

const errorBodyOf = async (response: Response): Promise<ErrorBody> => {
  const text = await response.text();
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {}; // A proxy's page: the status tells.
  }
};

/** An event stream that did not go on. */
export const streamFailureOf = (access: Access, error: unknown): unknown => {
  if (!(error instanceof EventsFailed)) return error;
  if (error.status === undefined) return unreachable(access, error);
  const { status, reason, message } = error;
  return new CliFailure(exitClassOfStatus(status), { code: reason ?? `http.${status}`, message, cause: error });
};
