import { ExternalFailure } from '@fairlead/contracts';
import { errors } from '@nats-io/transport-node';
import { describe, expect, it } from '@jest/globals';
import { QueryRunnerAlreadyReleasedError } from 'typeorm';
import { verdictOf, wordsOfChain } from './dependency.rules.js';

const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });

describe('a service that starts', () => {
  it.each([
    '57P03',
    '57P01',
    '53300',
    '08001',
    '08006',
    '08P01',
    '55P03',
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ECONNRESET',
  ])('waits if PostgreSQL or its host returns %s', (code) => expect(verdictOf(coded(code))).toBe('passing'));

  it.each([
    ['a connection that is cut', new Error('Connection terminated unexpectedly')],
    ['a connection that is not made in time', new Error('Connection terminated due to connection timeout')],
    ['a connection that breaks between two migrations', new QueryRunnerAlreadyReleasedError()],
    ['NATS that does not listen', new errors.ConnectionError('connection refused')],
    ['a stream without a server', new errors.NoRespondersError('$JS.API.INFO')],
    [
      'no responders to a request',
      new errors.RequestError('no responders', { cause: new errors.NoRespondersError('x') }),
    ],
    ['an answer that does not come', new errors.TimeoutError()],
    ['a credential that was shown too late', new errors.AuthorizationError('Authentication Timeout')],
    ['a log that cannot be reached', new ExternalFailure({ operation: 'append', target: 'evt', message: 'timeout' })],
    ['the cause of another error', new Error('cannot start', { cause: coded('57P03') })],
    ['refusals of several addresses', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])],
  ])('waits for %s', (_what, error) => expect(verdictOf(error)).toBe('passing'));

  it.each([
    ['a wrong password', coded('28P01')],
    ['a role that is not let in', coded('28000')],
    ['no such database', coded('3D000')],
    ['a missing right', coded('42501')],
    ['a credential that NATS refuses', new errors.AuthorizationError('Authorization Violation')],
    [
      'a server that is too old',
      new ExternalFailure({ operation: 'check', target: 'NATS', message: 'too old', retryable: false }),
    ],
  ])('does not wait for %s', (_what, error) => expect(verdictOf(error)).toBe('permanent'));

  it('classifies anything else as a bug', () => {
    expect(verdictOf(new TypeError('x is not a function'))).toBe('bug');
    expect(verdictOf(coded('42601'))).toBe('bug');
    expect(verdictOf('text')).toBe('bug');
  });

  it('quotes the first message that is not empty', () =>
    expect(wordsOfChain(new AggregateError([coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')], ''))).toBe(
      'connect ECONNREFUSED 127.0.0.1:1',
    ));
});
