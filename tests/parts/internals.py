"""The only module in tests that names internal modules of harness: a moved function is one changed line here.

Tests write `from internals import open_store`. Modules are imported when a test needs them. Everything else that tests
use comes from `harness`, `harness.errors`, `harness.sdk` and the packages of plugins.
"""

import re
from importlib import import_module

RUNNER = "harness.runner"
DISCOVERY = "harness.host.discovery"
FORK_SERVER = "harness.executors.server"
KERNELS_PACKAGE = "harness.sdk.kernels"
KERNEL_LOGGER = "harness.sdk.kernels.compile"
TRIAL_MODULE = "harness.trials.run"

DEFINED = {
    "harness.checks": "dataset_checks, experiment_checks, learner_checks, metric_checks, representation_checks",
    "harness.checks.learners": "scikit_learn_checks",
    "harness.checks.run": "CheckJob, find_checked, run_check_job, run_checks",
    "harness.checks.subject": "Check, CheckFailed, NotApplicable, Problem, Subject",
    "harness.cli": "check_platform, cli, COMMANDS, main",
    "harness.cli.data": "build_environments, describe_environments, remove_environments, spell_out_all",
    "harness.cli.output": "clean, LastingStream, set_up_streams, show_page_hint",
    "harness.cli.plugins": "explain_learner, explain_metric, KINDS_OF_PACKAGES, new_package",
    "harness.cli.report": "page",
    "harness.cli.run": "describe_status, format_seconds, show_plan",
    "harness.cluster": "connect",
    "harness.cluster.executor": "ClusterExecutor",
    "harness.cluster.messages": (
        "Artifact, checksum_of as checksum_of_artifact, code_artifact, CodeTarget, COPIES_VARIABLE, "
        "data_artifact, files_of, find_artifact, pack_end, pack_reply, pieces_of, read_description, read_reply, "
        "representation_artifact, Requirements, WorkerGone"
    ),
    "harness.cluster.queue": "LOOK_AHEAD, PendingJobs, Replied, TaskClient",
    "harness.cluster.transfer": (
        "_transfers, ABANDONED_SECONDS, begin_transfer, Caller, finish_transfer, receive_piece, send_artifact, "
        "TransferRefused, Transfers"
    ),
    "harness.data.arrays": (
        "differences, fingerprint_of, header_of, keep, missing_data, open_dataset, parsed_folder as folder_of, "
        "read_header"
    ),
    "harness.data.fetch": "CHUNK_BYTES, download, fetch_dataset, gather, Incoming, Patience, take_in, Watcher",
    "harness.data.inventory": (
        "available_names, belongings, bytes_of, ClassSize, default_form, kept_forms, profile_of, state_of, verify"
    ),
    "harness.data.load": "checked, error_from, parse_in_process, ParseJob, run_parse_job",
    "harness.data.split": "draw_split, open_labelled, part_data, read_sealed, shuffled",
    "harness.environments": (
        "build_environment, describe_state, environment_for, find_culprit, find_damage, find_versions, "
        "host_requirements, is_progress, MANIFEST as ENVIRONMENT_MANIFEST, remove_environment, with_dependencies"
    ),
    "harness.executors.base": "Job, JobEnd, Workplace",
    "harness.executors.local": "LOADERS, loading_executor, LocalExecutor, start_executor, TRIALS",
    "harness.executors.wire": "BLOB, FrameReader, JOB, pack, pack_json, PHASE, RESULT",
    "harness.experiment.load": (
        "build, describe_left_out, expand_groups, experiment_path, load_experiment, "
        "members_of as members_of_group, published_path, quick_version, read_file, read_options, resource_path, "
        "without_absent"
    ),
    "harness.experiment.options": "declared_options, given_options, parse_setting, read_settings, read_tuning",
    "harness.experiment.plan": "blueprint_of, list_candidates, Plan, plan, read_experiment, work_of as size_of",
    "harness.experiment.python": "describe_data, describe_estimator, describe_learners, find_target",
    "harness.experiment.references": (
        "DatasetRef, find_file_format, find_representation, label_of, learner_refs, LearnerRef, parse_dataset, "
        "read_dataset, spread_grid, stem_of"
    ),
    "harness.experiment.resolve": (
        "MINIMUM_DEPTH, NullProgress, prepare_dataset, resolve, resolve_dataset, resolve_learner"
    ),
    "harness.experiment.save": "to_toml",
    "harness.experiment.schema": "BudgetTable, dataset_groups, Experiment, kept_datasets, RunOptions, TuneTable",
    "harness.files.atomic": (
        "append_line, build_folder, create_file, hash_file, is_locked, lock, publish_folder, "
        "remove_temporary_files, staged_file, write_file"
    ),
    "harness.files.home": (
        "current_file, data_home, download_folder, environments_root, is_home_in_use, LIMIT_VARIABLE, make_room, "
        "MANIFEST as DATA_MANIFEST, owner_of, parsed_root, raw_folder, raw_root, RawEntry, "
        "RawManifest as Manifest, read_raw_manifest as read_manifest, remove, represented_name, represented_root, "
        "work_folder, write_raw_manifest as write_manifest"
    ),
    "harness.host.catalog": "bind, call_of, Catalog, Entry, find_metric, HOST_DISTRIBUTION, MetricCall, Origin",
    "harness.host.contract": "HasIndexBytes, HasIndexSize, Ranks, TouchesEdges",
    "harness.host.discovery": "discover, Session",
    "harness.host.introspection": (
        "code_of, Docstring, import_parameters, import_target, parameters_of, parse_docstring, read_docstring, "
        "read_parameters, REQUIRED, Source"
    ),
    "harness.models.card": "card_to_html, card_to_text, read_card",
    "harness.models.estimators": "load_representation, save_representation",
    "harness.models.fit": "fit_request, FitRequest",
    "harness.models.folder": "seal_of",
    "harness.models.model": "NamedClassifier, write_model",
    "harness.models.predict": "answer_ahead, CsvWriter, predict_rows, PredictionRequest",
    "harness.models.serve": "_bind as bind_address, make_app, ServeSettings",
    "harness.models.update": "next_version",
    "harness.records.record": (
        "as_plain, BadLine, Candidate, checksum_of_ranks as checksum_of_record, Circumstances, CurvePoint, "
        "field_names, FORMAT, from_line, make_record, Measured, measured_from_plain, NewerLine, Record, STATUSES, "
        "to_line, TrialNames"
    ),
    "harness.records.store": "open_store, read_incompatible, read_machines, read_ranks, read_records, read_same_code",
    "harness.report.answer": "describe_answer, describe_verdict, pick_learners",
    "harness.report.figures.draw": (
        "box_of, draw_diagram, draw_panels, log_labels, log_ticks, PALE, spread_out as spread_labels"
    ),
    "harness.report.figures.drawing": "Diagram, FIGURE_STYLES, FILE_FORMATS, look_of, Panel, Panels, Series",
    "harness.report.figures.kinds": "choose_kind, FIGURE_KINDS, FigureRequest",
    "harness.report.figures.panels": (
        "Answers, bar_panels, coverage_panels, curve_panels, frequency_panels, level_panels, pareto_front, "
        "pareto_panels, scaling_panels, slope_note, sweep_panels"
    ),
    "harness.report.lines": (
        "correction_ratio_of, flat_first, group_records, lines_by_dataset, pair_values, rank_learners, shared_seeds"
    ),
    "harness.report.page.build": "make_part, PartRequest, shortened",
    "harness.report.page.document": "Page, PageGrid, VEGA_LITE",
    "harness.report.tables.compare": "changes_grid, describe_lines, find_changes, pair_lines, settings_grid",
    "harness.report.tables.layout": "fit_list, fold_columns, format_value, wrap_lines",
    "harness.report.tables.pairwise": "compare_pairs, differences_grid, matrix_grid, ranks_grid, Wins",
    "harness.report.tables.published": "against_grid, parse_published, Published, read_published",
    "harness.report.tables.render": "cell_words, FORMATS, Grid, LONG, records_frame, table_to_terminal",
    "harness.report.tables.select": "choose_columns, keep_lines, LineFilter, parse_filter",
    "harness.report.tables.table": "Cell, ComparisonTable, describe_line, Group, make_table, Row, ROW_HEADINGS",
    "harness.report.verdicts": "describe_expected_power, PlannedComparison",
    "harness.results.pages": "make_page",
    "harness.results.results": "find_folders, read_results",
    "harness.results.saved_ranks": (
        "beyond_saved, check_depth, describe_missing_curves, fill_in, find_data, first_hits, ranks_of, "
        "rebuild_outcome, rescore, row_hits, SavedRanks"
    ),
    "harness.runner.execute": "as_planned, common_circumstances, pending, record_end, reuse, run_trials",
    "harness.runner.limits": "Limits",
    "harness.runner.progress": "read_status, STATUS, StatusProgress, write_status",
    "harness.runner.reproduce": "list_papers, read_paper, reopen_paper, tables_of",
    "harness.runner.run": "run_experiment",
    "harness.runner.suggest": (
        "Cost, distance, Facts, Measurement, nearest_datasets, profile_data, propose, read_measured, suggest"
    ),
    "harness.sdk": "lazy_names",
    "harness.sdk.classifier": "as_labels, extend, has_several, name_labels",
    "harness.sdk.contributions": "share_along",
    "harness.sdk.costs": "COSTS, hold_out, settle_cost, take_rows",
    "harness.sdk.index": "are_many, rank_all_classes, worth_a_matrix",
    "harness.sdk.kernels.bounded_rank": "rank_bounded",
    "harness.sdk.kernels.bounds": "change, join, part, pick_frequent, search_best, slack_of, space_for",
    "harness.sdk.kernels.class_scores": "score_classes",
    "harness.sdk.kernels.compile": "helper, imported_by, kernel, named, stamp_of",
    "harness.sdk.kernels.dense": (
        "add_up_all, BLOCK_ROWS as DENSE_BLOCK_ROWS, MOST_MATRIX_CLASSES, pays, rank_dense, spread_out as spread_rows"
    ),
    "harness.sdk.kernels.edges": "as_edges, as_rows, check_edges, Edges, keep_largest, pack_rows",
    "harness.sdk.kernels.instances": (
        "as_instances, by_frequency, COUNTED_VALUES, dense_rows, FEWEST_ROWS, LEAST_WEIGHTS, pays_as_dense, "
        "places_of, RANKED_ROWS, renamed, square_lengths"
    ),
    "harness.sdk.kernels.moves": "forget, move_row, no_moves, plan_move",
    "harness.sdk.kernels.one_vs_rest": "inverse, norms, rank_scaled, total, update_one_vs_rest",
    "harness.sdk.kernels.rank": "fill_ranks, LEAST_SHARE, rank_and_score, rank_by_index, spread_crowded",
    "harness.sdk.kernels.rows": (
        "append, capacity, empty_rows, enlarge, freeze, has_room, MOST_EDGES, NONE, remove_edge, Rows, shift, widen"
    ),
    "harness.sdk.kernels.score": (
        "AHEAD, best_class, fetch_ahead, fetch_each, fetch_instance, fetch_row, fill_top_k, prefetch, score, "
        "squared_norm"
    ),
    "harness.sdk.kernels.touched": "choose as choose_touched, empty_space, fill_touched_ranks, rank_touched, touch",
    "harness.sdk.kernels.vectors": (
        "as_matrix, BLOCK_ROWS as VECTOR_BLOCK_ROWS, matrix_edges, rank_vectors, row_blocks, score_vectors"
    ),
    "harness.sdk.outcomes": "by_class, ByClass, class_ancestors, class_paths, Confusion, FrequencyBin, risk_curve",
    "harness.sdk.reading.lines": "read_lines, read_text",
    "harness.sdk.reading.raw": "examine, kind_of, members_of as members_of_archive, open_raw, RawFiles, without_suffix",
    "harness.sdk.reading.sparse_text": "drop_unused_columns, read_svmlight, read_xmc",
    "harness.sdk.reading.tables": "find_columns, open_table, read_batches, ReadOptions, RowBatch",
    "harness.sdk.saving": "ALIGNED_BYTES, class_named, map_arrays, read_model, write_arrays",
    "harness.sdk.threads": "allowed_threads",
    "harness.sdk.wrappers": "rank_scores",
    "harness.stats.calibration": (
        "calibrate, calibrator_from_plain, calibrator_to_plain, Constant, fit_isotonic, fit_logistic, "
        "reliability_of, sharpen"
    ),
    "harness.stats.paired": (
        "binomial_half_width, clearly_wins, corrected_t_test, count_wins, FEWEST_PAIRS, holm, Interval, judge, "
        "mcnemar, mean_difference, share_difference, sign_test, SIGNIFICANCE, SPREADS, summarise, Summary, "
        "t_half_width, TESTS, USUAL_RATIO"
    ),
    "harness.stats.power": "detectable_difference, detectable_share, expected_detectable_difference",
    "harness.stats.ranks": "average_ranks, critical_difference, friedman, rank_values",
    "harness.syntax.expression": "Expression, parse, parse_value, split_list",
    "harness.syntax.split": "parse_split, Split",
    "harness.syntax.values": (
        "grid_label, is_file, Label, parse_duration, parse_memory, parse_place, parse_representation, parse_size, "
        "Place, plain_label, SMALLEST_MEMORY, written"
    ),
    "harness.system": "choose_system, SYSTEM",
    "harness.system.machine": "describe_machine, describe_versions, Machine, read_commit, read_machine",
    "harness.text": "choose as choose_by_name, counted, nearest, printable, well_formed",
    "harness.trials.clock": "Clock, limit_threads, threads_in_force",
    "harness.trials.data": (
        "is_large, keep_represented, LARGE_BYTES, load_parts, load_validation_parts, open_represented, represent, "
        "Represented, run_represent_job, TrainingPart"
    ),
    "harness.trials.fit": "takes, taxonomy_argument, tune, warm_up",
    "harness.trials.outcome": "class_counts, Costs, make_outcome, PointResult, Ranking, TrialResult",
    "harness.trials.predict": (
        "as_classes, check_ranks, divide_rows, first_scores, places_in, rank_positions, rank_with_scores, "
        "ranking_from_bytes, ranking_to_bytes, top_k, worst_places"
    ),
    "harness.trials.run": "check_files_left, run_trial",
    "harness.trials.score": "result_from_plain, score_trial, Scorer",
    "harness.trials.trial": (
        "Blueprint, build_estimator, find_refusals, RepresentationPlan, RepresentJob, Trial, TrialJob, TuningPlan"
    ),
}
"""By module, the names that tests use, as in an import: `name` or `attribute as name`."""


def _targets():
    """Return each name with its module and the name that it has there."""
    targets = {}
    for module, names in DEFINED.items():
        for each in names.split(", "):
            attribute, _, name = each.partition(" as ")
            targets[name or attribute] = (module, attribute)
    return targets


NAMES = _targets()
"""Each name with its module and the name that it has there."""

MODULES = {
    "frames": "harness.executors.wire",
    "hooks": "harness.host.contract",
    "linux": "harness.system.linux",
    "posix": "harness.system.posix",
}
"""Modules that tests use as objects."""

PATCHED = {
    "BATCH_ROWS": "harness.sdk.reading.tables",
    "_open_stdin": "harness.models.predict",
    "serve.MOST_CLASSES": "harness.models.serve",
    "queue._pack": "harness.cluster.queue",
    "queue.run_assignment": "harness.cluster.queue",
    "send.send_artifact": "harness.cluster.transfer",
    "LOST_SECONDS": "harness.cluster.executor",
    "_verified": "harness.cluster.messages",
    "downloads.MOST_BYTES": "harness.data.fetch",
    "INSTALLERS": "harness.environments",
    "BEGIN_SECONDS": "harness.executors.local",
    "GRACE_SECONDS": "harness.executors.local",
    "CLOSE_SECONDS": "harness.executors.local",
    "LOOK_SECONDS": "harness.executors.local",
    "HOPELESS_SECONDS": "harness.executors.server",
    "representations.code_of": "harness.experiment.references",
    "resolve.code_of": "harness.experiment.resolve",
    "rank_bounded": "harness.sdk.kernels.bounded_rank",
    "crowded.LEAST_SHARE": "harness.sdk.kernels.rank",
    "crowded.MOST_BYTES": "harness.sdk.kernels.rank",
    "crowded.MOST_CLASSES": "harness.sdk.kernels.rank",
    "MOST_MATRIX_BYTES": "harness.sdk.kernels.dense",
    "LEAST_WEIGHTS": "harness.sdk.kernels.instances",
    "rows.CACHED_CLASSES": "harness.sdk.kernels.rows",
    "rows.MOST_EDGES": "harness.sdk.kernels.rows",
    "one_blas_thread": "harness.sdk.kernels.vectors",
    "online.CACHED_CLASSES": "harness.sdk.online",
    "KNOWN_SHARE_OF_MANY": "harness.sdk.index",
    "rank_dense": "harness.sdk.index",
    "ranking.CACHED_CLASSES": "harness.sdk.index",
    "lines._CHUNK": "harness.sdk.reading.lines",
    "lines.MAX_LINE": "harness.sdk.reading.lines",
    "delimited.MAX_CELL": "harness.sdk.reading.delimited",
    "raw_files.MOST_BYTES": "harness.sdk.reading.raw",
    "CHUNK_BYTES": "harness.sdk.reading.sparse_text",
    "FREE_BYTES": "harness.sdk.reading.raw",
    "MOST_UNPACKED_BYTES": "harness.sdk.reading.raw",
    "BLOCK_VALUES": "harness.trials.predict",
    "represent.BLOCK_ROWS": "harness.trials.data",
    "represent.keep_represented": "harness.trials.data",
}
"""Names that tests replace, each with the module that looks it up; a prefix keeps equal names apart."""


def module_of(name):
    """Return the name of the module that defines `name`."""
    return NAMES[name][0]


def attribute_of(name):
    """Return the name that `name` has in its module."""
    return NAMES[name][1]


def __getattr__(name):
    if name in MODULES:
        return import_module(MODULES[name])
    if name in NAMES:
        return getattr(import_module(module_of(name)), attribute_of(name))
    raise AttributeError(f"tests/parts/internals.py has no {name!r}: add it to DEFINED, in the line of its module")


def patch_internal(monkeypatch, name, value):
    """Replace a name of `PATCHED` in the module that looks it up."""
    monkeypatch.setattr(import_module(PATCHED[name]), name.rpartition(".")[2], value)


def expand_imports(source):
    """Return `source` with each line `from internals import ...` replaced by imports of the real modules.

    Other processes run such code, and cannot import this module.
    """
    return re.sub(r"^( *)from internals import (.+)$", _expand_line, source, flags=re.MULTILINE)


def _expand_line(found):
    indent, names = found.groups()
    lines = []
    for name in names.split(", "):
        lines.append(f"{indent}from {module_of(name)} import {attribute_of(name)} as {name}")
    return "\n".join(lines)
