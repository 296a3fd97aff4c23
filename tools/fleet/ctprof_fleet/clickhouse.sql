-- The index of `ctprof fleet` in ClickHouse: the same rows, and views with the same names and columns, so that the same queries work.
--
--   INSERT INTO stored SELECT * FROM file('/srv/fleet/.ctprof-fleet/buckets/*.parquet', Parquet);
--
-- A second INSERT duplicates files that changed: run TRUNCATE TABLE stored first, or fill another table and exchange the two.

CREATE TABLE stored (
    row LowCardinality(String), file Nullable(String), size Nullable(Int64), mtime_ns Nullable(Int64), inode Nullable(UInt64),
    error Nullable(String), told Array(Nullable(String)), capture Nullable(Int32), captures Nullable(Int32), kind Nullable(String),
    host Nullable(String), boot_id Nullable(String), opened_at_ns Nullable(Int64), captured_at_ns Nullable(Int64),
    seconds Nullable(Float64), uptime Nullable(Float64), threads Nullable(Int64), ended Nullable(Int64), tool Nullable(String),
    level_left_out Array(Nullable(String)), facts Map(String, Nullable(String)), facts_left_out Nullable(Int32),
    metrics_left_out Nullable(Int32), totals Array(Nullable(Float64)), headlines Array(Nullable(Float64)),
    coverage Map(String, Array(Nullable(Int64))),
    groups Array(Nullable(String)), group_threads Array(Nullable(Int64)), group_own Array(Nullable(Bool)),
    figures Map(String, Array(Nullable(Float64))), registry Nullable(String), metrics Nullable(String), names Array(Nullable(String))
) ENGINE = MergeTree ORDER BY row;

CREATE VIEW files AS
SELECT file, size, fromUnixTimestamp64Nano(assumeNotNull(mtime_ns), 'UTC') AS modified_at, error, told FROM stored WHERE row = 'file';

CREATE VIEW duplicates AS
SELECT file, capture, first FROM (
    SELECT file, capture, row_number() OVER same AS nth, first_value(file) OVER same AS first
    FROM stored WHERE row = 'capture' AND boot_id <> ''
    WINDOW same AS (PARTITION BY host, boot_id, kind, opened_at_ns, captured_at_ns ORDER BY file, capture))
WHERE nth > 1;

CREATE VIEW known AS
SELECT registry, arrayMap(name -> assumeNotNull(name), any(names)) AS names FROM stored WHERE row = 'registry' GROUP BY registry;

CREATE VIEW captures AS
SELECT file, capture, captures, host, kind, boot_id, fromUnixTimestamp64Nano(assumeNotNull(opened_at_ns), 'UTC') AS opened_at,
       fromUnixTimestamp64Nano(assumeNotNull(captured_at_ns), 'UTC') AS captured_at, seconds, uptime, threads, ended, tool, level_left_out,
       facts_left_out, metrics_left_out, registry, facts,
       CAST((known.names, stored.totals), 'Map(String, Nullable(Float64))') AS totals, coverage, groups, group_threads, group_own, figures
FROM stored LEFT JOIN known USING (registry) WHERE row = 'capture' AND (file, capture) NOT IN (SELECT file, capture FROM duplicates);

CREATE VIEW facts AS
SELECT file, capture, host, kind, captured_at, seconds, fact, value
FROM captures ARRAY JOIN mapKeys(facts) AS fact, mapValues(facts) AS value;

CREATE VIEW totals AS
SELECT file, capture, host, kind, captured_at, seconds, metric, value, coverage[metric][1] AS has, coverage[metric][2] AS rows
FROM captures ARRAY JOIN mapKeys(totals) AS metric, mapValues(totals) AS value;

CREATE VIEW groups AS
SELECT file, capture, host, kind, captured_at, seconds, name AS "group", number AS threads, metric, value
FROM (SELECT file, capture, host, kind, captured_at, seconds, groups, group_threads, metric, series
      FROM captures ARRAY JOIN mapKeys(figures) AS metric, mapValues(figures) AS series)
ARRAY JOIN groups AS name, group_threads AS number, series AS value;

CREATE VIEW metrics AS
SELECT DISTINCT JSONExtractString(one, 'name') AS metric, JSONExtractString(one, 'entity') AS entity, JSONExtractString(one, 'unit') AS unit,
       JSONExtractString(one, 'family') AS family, JSONExtract(one, 'headline', 'label', 'Nullable(String)') AS label,
       JSONExtract(one, 'headline', 'shown', 'Nullable(String)') AS shown, JSONExtract(one, 'headline', 'floor', 'Nullable(Float64)') AS floor
FROM (SELECT arrayJoin(JSONExtractArrayRaw(assumeNotNull(metrics))) AS one FROM stored WHERE row = 'registry');

CREATE VIEW left_out AS
SELECT file, CAST(NULL, 'Nullable(Int32)') AS capture, 'cannot be read' AS reason, error AS why FROM stored WHERE row = 'file' AND error IS NOT NULL
UNION ALL
SELECT file, capture, 'duplicate', concat('the same capture as in ', first) FROM duplicates;
