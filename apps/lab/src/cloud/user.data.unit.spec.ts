import { describe, expect, it } from '@jest/globals';
import { scriptOf } from './user.data.js';

describe('user data of a machine of the lab', () => {
  it('are run unchanged if they are a script', () => {
    const script = '#!/bin/sh\necho hello\n';
    expect(scriptOf(script)).toBe(script);
  });

  it('run the commands of a cloud-config in order, each given as a string or as a list of words', () => {
    const config =
      '#cloud-config\npackages: [nfs-common]\nruncmd:\n  - [mkdir, -p, "/srv/my data"]\n  - echo a | cat\n';
    expect(scriptOf(config)).toBe("'mkdir' '-p' '/srv/my data'\necho a | cat\n");
  });

  it.each(['#cloud-config\n', '#cloud-config\nruncmd: none\n'])(
    'run nothing if they contain no command: %j',
    (config) => expect(scriptOf(config)).toBe(''),
  );
});
