import { Command, type Option } from 'commander';
import { addCommand, runs, SHARED_HEADING, sharedOptions } from './command/command.js';
import { formatHelp, indented, meaningOf } from './command/help.text.js';
import { commandNamed } from './command/suggestions.js';
import { EXIT_CODES } from './exit-codes.js';
import type { Io } from './io/io.js';
import { addReleaseCommands } from './release/release.commands.js';
import { addAddonCommands } from './addon/addon.commands.js';
import { addApplicationCommands } from './application/application.commands.js';
import { addAutoscalerCommands } from './autoscaler/autoscaler.commands.js';
import { addBundleCommands } from './bundle/bundle.commands.js';
import { addCertificateCommands } from './certificates/certificates.commands.js';
import { addClusterCommands } from './cluster/cluster.commands.js';
import { addCompletionCommands } from './completion/completion.commands.js';
import { addContextCommands } from './context/context.commands.js';
import { addConnectionCommands } from './connection/connection.commands.js';
import { addEtcdCommands } from './etcd/etcd.commands.js';
import { addAuditCommands } from './events/audit.commands.js';
import { addEventCommands } from './events/events.commands.js';
import { addHookCommands } from './hook/hook.commands.js';
import { addHostCommands } from './host/host.commands.js';
import { addHandoverCommands } from './handover/handover.commands.js';
import { addInitCommand } from './init/init.commands.js';
import { addKeysCommands } from './keys/keys.commands.js';
import { addKubeconfigCommand } from './kubeconfig/kubeconfig.commands.js';
import { addHistoryCommands } from './manifest/history.commands.js';
import { addManifestCommands } from './manifest/manifest.commands.js';
import { addLabCommands } from './lab/lab.commands.js';
import { addLoginCommands } from './login/login.commands.js';
import { addNamespaceCommands } from './namespace/namespace.commands.js';
import { addNodeCommands } from './node/node.commands.js';
import { addQuarantineCommands } from './quarantine/quarantine.commands.js';
import { addPageCommand } from './page/page.commands.js';
import { addPoolCommands } from './pool/pool.commands.js';
import { addProvisionCommands } from './provision/provision.commands.js';
import { addRealmCommands } from './realm/realm.commands.js';
import { addSupportCommand } from './support/support.commands.js';
import { addTemplateCommands } from './template/template.commands.js';
import { addTokenCommands } from './token/token.commands.js';
import { addUpgradeCommands } from './upgrade/upgrade.commands.js';
import { addValidateCommands } from './validate/validate.commands.js';
import { addUpCommands } from './up/up.commands.js';
import { addVersionCommand } from './version.commands.js';
import { addWhoamiCommand } from './whoami/whoami.commands.js';
import { VERSION } from './version.js';

/** Longer lines are hard to read, and a pipe has no width. */
const HELP_COLUMNS_MAX = 120;

/** Summaries are wrapped in columns of at least 20. */
const HELP = {
  showGlobalOptions: false,
  sortSubcommands: false,
  minWidthToWrap: 20,
  formatHelp: formatHelp(SHARED_HEADING),
  optionDescription: (option: Option) => meaningOf(option),
};

/** Builds the whole command tree, without side effects: documentation and completion use it too. */
export const buildProgram = (io: Io): Command => {
  const program = new Command('fairlead')
    .description(
      'Creates and operates Kubernetes clusters on any machines, and records what happened, when, why and on whose request.',
    )
    .version(VERSION, '-V, --version', 'print the version of this program')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp(HELP)
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: () => undefined, // Printed by runCli, with help and as JSON if requested.
      getOutHasColors: () => io.colors.isColorSupported,
      getErrHasColors: () => io.colors.isColorSupported,
      getOutHelpWidth: () => Math.min(io.outColumns(), HELP_COLUMNS_MAX),
      getErrHelpWidth: () => Math.min(io.errColumns(), HELP_COLUMNS_MAX),
    })
    .addHelpText('after', () => exitCodesText(io));
  for (const option of sharedOptions('server')) program.addOption(option);

  program.commandsGroup('Clusters:');
  const cluster = addClusterCommands(program, io);
  addHistoryCommands(cluster, io);
  addInitCommand(program, io);
  addValidateCommands(program, io);
  addManifestCommands(program, io);
  addTemplateCommands(program, io);
  addKubeconfigCommand(program, io);
  addHookCommands(program, io);
  addAddonCommands(program, io);
  program.commandsGroup('Nodes:');
  addNodeCommands(program, io);
  addHostCommands(program, io);
  addPoolCommands(program, io);
  addAutoscalerCommands(program, io);
  program.commandsGroup('Upgrades and backups:');
  addUpgradeCommands(program, io);
  addEtcdCommands(program, io);
  addCertificateCommands(program, io);
  addReleaseCommands(program, io);
  addBundleCommands(program, io);
  program.commandsGroup('History:');
  addEventCommands(program, io);
  addAuditCommands(program, io);
  addAccessCommands(program, io);
  program.commandsGroup('Machines and applications:');
  addConnectionCommands(program, io);
  addApplicationCommands(program, io);
  addLabCommands(program, io);
  program.commandsGroup('Operate Fairlead:');
  addUpCommands(program, io);
  addProvisionCommands(program, io);
  addHandoverCommands(program, io);
  addKeysCommands(program, io);
  addQuarantineCommands(program, io);
  addSupportCommand(program, io);
  program.commandsGroup('Help:');
  addVersionCommand(program, io);
  addCompletionCommands(program, io);
  addHelpCommand(program, io);
  return program;
};

const addAccessCommands = (program: Command, io: Io): void => {
  program.commandsGroup('Access:');
  addContextCommands(program, io);
  addLoginCommands(program, io);
  addWhoamiCommand(program, io);
  addPageCommand(program, io);
  addTokenCommands(program, io);
  addNamespaceCommands(program, io);
  addRealmCommands(program, io);
};

/** Replaces commander's own command, which explains only the first word. */
const addHelpCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'help',
    summary: 'Show help for a command',
    shared: 'none',
    examples: [['fairlead help cluster create', 'Show the help of a command']],
  })
    .argument('[command...]', 'the command, word by word')
    .action(runs(io, async (_session, words: readonly string[]) => commandNamed(program, words).outputHelp()));
};

const CODE_WIDTH = 7;

const exitCodesText = ({ outColumns }: Io): string => {
  const columns = Math.min(outColumns(), HELP_COLUMNS_MAX);
  return `\nExit codes:\n${Object.values(EXIT_CODES)
    .map(({ code, meaning }) => {
      const text = indented(meaning, columns, CODE_WIDTH);
      return `  ${String(code).padStart(3)}  ${text.trimStart()}`;
    })
    .join('\n')}\n`;
};
