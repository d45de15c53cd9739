import { CONNECTIONS_STREAM, type ApplicationName, type ApplicationSettings, type Fact } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { digestOf, indexed } from '../../test/fake.repository.js';
import { Story } from '../../test/story.js';
import { CatalogueFailure } from './catalogue.ports.js';

const name = 'grafana' as ApplicationName;
const SETTINGS: ApplicationSettings = {
  repository: 'https://charts.example.org',
  chart: 'grafana',
  range: '>=8.0.0 <9.0.0',
  keep: 2,
  label: '',
  description: '',
  icon: '',
};

describe('an application of the catalogue', () => {
  let story: Story;
  /** When the log begins. */
  let now: Date;

  const say = async (fact: Fact): Promise<void> => {
    await story.log.say(CONNECTIONS_STREAM, fact);
    await story.settle();
  };
  const register = (changes: Partial<ApplicationSettings> = {}): Promise<void> =>
    say({ type: 'ApplicationRegistered', data: { name, ...SETTINGS, ...changes } });
  const sync = (): Promise<void> => say({ type: 'ApplicationSyncRequested', data: { name } });
  const facts = (): readonly string[] =>
    story.log.events
      .filter(({ meta }) => meta.context === 'catalogue-grafana')
      .map(({ type, data }) => ('version' in data ? `${type} ${String(data.version)}` : type));

  beforeEach(() => {
    now = new Date('2026-01-01T00:00:00.000Z');
    story = new Story({ clock: { now: () => now } });
    story.repository.index = [indexed('7.9.0'), indexed('8.0.0'), indexed('8.1.0'), indexed('8.2.0')];
  });

  it('has the newest versions of its range, each with its values schema [azimuth 33]', async () => {
    await register();
    expect(facts()).toEqual([
      'ApplicationVersionAdded 8.2.0',
      'ApplicationVersionAdded 8.1.0',
      'ApplicationSynchronized',
    ]);
    expect(story.last('ApplicationVersionAdded')).toMatchObject({ version: '8.1.0', schema: '{"title":"8.1.0"}' });
    expect(story.last('ApplicationSynchronized').versions).toEqual(['8.2.0', '8.1.0']);
  });

  it('never downloads a known version again, even after a restart, and states nothing if nothing changed [azimuth 33]', async () => {
    await register();
    const before = facts();
    await sync();
    story.restart();
    await sync();
    expect([story.repository.reads, story.repository.downloads]).toEqual([3, ['8.2.0', '8.1.0']]);
    expect(facts()).toEqual(before);
    story.repository.index = [...story.repository.index, indexed('8.3.0')];
    await sync();
    expect(story.repository.downloads).toEqual(['8.2.0', '8.1.0', '8.3.0']);
    expect(facts().slice(before.length)).toEqual([
      'ApplicationVersionAdded 8.3.0',
      'ApplicationVersionRemoved 8.1.0',
      'ApplicationSynchronized',
    ]);
  });

  it('without a matching version reports this once, with versions that the repository has [azimuth 33]', async () => {
    await register({ range: '^10.0.0' });
    await sync();
    expect(facts()).toEqual(['ApplicationNotSynchronized']);
    const { reason, message } = story.last('ApplicationNotSynchronized');
    expect(reason).toBe('NoMatchingVersion');
    expect(message).toContain('the newest that it has: 8.2.0, 8.1.0, 8.0.0, 7.9.0');
    await register();
    expect(facts().at(-1)).toBe('ApplicationSynchronized');
  });

  it('keeps its versions while the repository does not respond, and states a different reason once', async () => {
    await register();
    const before = facts().length;
    story.repository.failure = new CatalogueFailure('RepositoryUnreachable', 'charts.example.org answers 503');
    await sync();
    await sync();
    story.repository.failure = new CatalogueFailure('IndexInvalid', 'the index has no entries');
    await sync();
    expect(facts().slice(before)).toEqual(['ApplicationNotSynchronized', 'ApplicationNotSynchronized']);
    story.repository.failure = undefined;
    await sync();
    expect(facts().slice(before + 2)).toEqual(['ApplicationSynchronized']);
    expect(story.repository.downloads).toHaveLength(2);
  });

  it('adds all versions except one whose archive does not match the digest in the index', async () => {
    story.repository.broken.set('8.2.0', new CatalogueFailure('DigestMismatch', 'the archive of version 8.2.0'));
    await register();
    expect(facts()).toEqual(['ApplicationVersionAdded 8.1.0', 'ApplicationNotSynchronized']);
    expect(story.last('ApplicationNotSynchronized').reason).toBe('DigestMismatch');
  });

  it('adds no version without a digest in the index', async () => {
    story.repository.index = [indexed('8.1.0', { digest: undefined })];
    await register();
    expect([facts(), story.repository.downloads]).toEqual([['ApplicationNotSynchronized'], []]);
    expect(story.last('ApplicationNotSynchronized').reason).toBe('DigestMismatch');
  });

  it('replaces a version that was republished with another digest', async () => {
    await register({ keep: 1 });
    story.repository.index = [indexed('8.2.0', { digest: digestOf('b') })];
    await sync();
    expect(story.last('ApplicationVersionAdded').digest).toBe(digestOf('b'));
    expect(facts().filter((fact) => fact.startsWith('ApplicationVersionRemoved'))).toEqual([]);
  });

  it('is synchronized repeatedly until it is removed, which leaves nothing behind', async () => {
    await register();
    await story.wait();
    await story.wait();
    expect(story.repository.reads).toBe(3);
    now = new Date('2026-01-02T00:00:00.000Z');
    // Synchronizations that were due while the service was away are not repeated.
    await story.wait();
    expect(story.repository.reads).toBe(3);
    await say({ type: 'ApplicationRemoved', data: { name } });
    expect(facts().slice(-2)).toEqual(['ApplicationVersionRemoved 8.2.0', 'ApplicationVersionRemoved 8.1.0']);
    await story.wait();
    expect(story.repository.reads).toBe(3);
  });

  it('is synchronized by one task at a time', async () => {
    const lease = await story.leases.of('another replica').acquire('_/_', `SyncApplication/${name}`);
    await register();
    expect(story.repository.reads).toBe(0);
    await lease?.release();
    await story.wait();
    expect(story.repository.reads).toBeGreaterThan(0);
  });
});
