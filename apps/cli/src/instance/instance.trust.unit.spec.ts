import { describe, expect, it } from '@jest/globals';
import { distrustOf } from './instance.trust.js';

const own = { path: '/home/ada/.fairlead', owner: 1000, mode: 0o40700, self: 1000 };

describe('an instance folder', () => {
  it.each([
    ['of this user', own],
    ['of this user that others may read', { ...own, mode: 0o40755 }],
    ['of root, read by root', { ...own, owner: 0, self: 0 }],
    ['on a system without users', { ...own, owner: 0, self: undefined }],
  ])('%s is trusted', (_what, given) => expect(distrustOf(given)).toBeUndefined());

  it.each([
    ['of another user', { ...own, owner: 1001 }, 'belongs to user 1001, and this is user 1000'],
    ['of another user, read by root', { ...own, self: 0 }, "sudo -u '#1000' fairlead"],
    ['of root, read by a user', { ...own, owner: 0 }, 'belongs to user 0'],
    ['that its group may write', { ...own, mode: 0o40770 }, 'chmod go-w /home/ada/.fairlead'],
    ['that all may write', { ...own, mode: 0o41777 }, 'can be written by other users'],
  ])('%s is not', (_what, given, words) => {
    const failure = distrustOf(given);
    expect(failure).toMatchObject({ code: 'cli.instance-untrusted', exit: 'unauthorised' });
    expect(`${failure?.message} ${failure?.help}`).toContain(words);
  });
});
