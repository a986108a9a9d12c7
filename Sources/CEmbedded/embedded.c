// The files that are embedded in the executable. SwiftPM would embed each file as an array literal in Swift, and the compiler
// needs minutes for such literals.

#include "CEmbedded.h"

static const unsigned char migrations_0001_history_sql[] = {
#embed "../../migrations/0001_history.sql"
};
static const unsigned char migrations_0002_quake_sql[] = {
#embed "../../migrations/0002_quake.sql"
};
static const unsigned char migrations_0003_import_sql[] = {
#embed "../../migrations/0003_import.sql"
};
static const unsigned char migrations_0004_settling_sql[] = {
#embed "../../migrations/0004_settling.sql"
};
static const unsigned char migrations_0005_association_sql[] = {
#embed "../../migrations/0005_association.sql"
};
static const unsigned char migrations_0006_report_sql[] = {
#embed "../../migrations/0006_report.sql"
};
static const unsigned char migrations_0007_notify_sql[] = {
#embed "../../migrations/0007_notify.sql"
};
static const unsigned char map_islands_txt[] = {
#embed "../Charts/Map/islands.txt"
};
static const unsigned char map_land_txt[] = {
#embed "../Charts/Map/land.txt"
};
static const unsigned char map_places_txt[] = {
#embed "../Charts/Map/places.txt"
};
static const unsigned char page_agencies_js[] = {
#embed "../QuakeServer/Page/Files/agencies.js"
};
static const unsigned char page_alerts_js[] = {
#embed "../QuakeServer/Page/Files/alerts.js"
};
static const unsigned char page_beachball_js[] = {
#embed "../QuakeServer/Page/Files/beachball.js"
};
static const unsigned char page_borders_txt[] = {
#embed "../QuakeServer/Page/Files/borders.txt"
};
static const unsigned char page_card_png[] = {
#embed "../QuakeServer/Page/Files/card.png"
};
static const unsigned char page_catalogue_js[] = {
#embed "../QuakeServer/Page/Files/catalogue.js"
};
static const unsigned char page_controls_js[] = {
#embed "../QuakeServer/Page/Files/controls.js"
};
static const unsigned char page_coverage_js[] = {
#embed "../QuakeServer/Page/Files/coverage.js"
};
static const unsigned char page_detail_js[] = {
#embed "../QuakeServer/Page/Files/detail.js"
};
static const unsigned char page_dom_js[] = {
#embed "../QuakeServer/Page/Files/dom.js"
};
static const unsigned char page_dots_js[] = {
#embed "../QuakeServer/Page/Files/dots.js"
};
static const unsigned char page_earth_js[] = {
#embed "../QuakeServer/Page/Files/earth.js"
};
static const unsigned char page_format_js[] = {
#embed "../QuakeServer/Page/Files/format.js"
};
static const unsigned char page_gestures_js[] = {
#embed "../QuakeServer/Page/Files/gestures.js"
};
static const unsigned char page_groups_js[] = {
#embed "../QuakeServer/Page/Files/groups.js"
};
static const unsigned char page_icon_192_png[] = {
#embed "../QuakeServer/Page/Files/icon-192.png"
};
static const unsigned char page_icon_512_png[] = {
#embed "../QuakeServer/Page/Files/icon-512.png"
};
static const unsigned char page_icon_svg[] = {
#embed "../QuakeServer/Page/Files/icon.svg"
};
static const unsigned char page_index_html[] = {
#embed "../QuakeServer/Page/Files/index.html"
};
static const unsigned char page_legend_js[] = {
#embed "../QuakeServer/Page/Files/legend.js"
};
static const unsigned char page_list_js[] = {
#embed "../QuakeServer/Page/Files/list.js"
};
static const unsigned char page_live_js[] = {
#embed "../QuakeServer/Page/Files/live.js"
};
static const unsigned char page_machine_js[] = {
#embed "../QuakeServer/Page/Files/machine.js"
};
static const unsigned char page_main_js[] = {
#embed "../QuakeServer/Page/Files/main.js"
};
static const unsigned char page_manifest_webmanifest[] = {
#embed "../QuakeServer/Page/Files/manifest.webmanifest"
};
static const unsigned char page_map_js[] = {
#embed "../QuakeServer/Page/Files/map.js"
};
static const unsigned char page_mechanism_js[] = {
#embed "../QuakeServer/Page/Files/mechanism.js"
};
static const unsigned char page_notify_js[] = {
#embed "../QuakeServer/Page/Files/notify.js"
};
static const unsigned char page_page_css[] = {
#embed "../QuakeServer/Page/Files/page.css"
};
static const unsigned char page_plates_txt[] = {
#embed "../QuakeServer/Page/Files/plates.txt"
};
static const unsigned char page_projection_js[] = {
#embed "../QuakeServer/Page/Files/projection.js"
};
static const unsigned char page_quake_js[] = {
#embed "../QuakeServer/Page/Files/quake.js"
};
static const unsigned char page_scale_js[] = {
#embed "../QuakeServer/Page/Files/scale.js"
};
static const unsigned char page_service_js[] = {
#embed "../QuakeServer/Page/Files/service.js"
};
static const unsigned char page_settings_js[] = {
#embed "../QuakeServer/Page/Files/settings.js"
};
static const unsigned char page_share_js[] = {
#embed "../QuakeServer/Page/Files/share.js"
};
static const unsigned char page_start_js[] = {
#embed "../QuakeServer/Page/Files/start.js"
};
static const unsigned char page_status_js[] = {
#embed "../QuakeServer/Page/Files/status.js"
};
static const unsigned char page_tiles_js[] = {
#embed "../QuakeServer/Page/Files/tiles.js"
};
static const unsigned char page_timeline_js[] = {
#embed "../QuakeServer/Page/Files/timeline.js"
};
static const unsigned char page_tooltip_js[] = {
#embed "../QuakeServer/Page/Files/tooltip.js"
};
static const unsigned char page_view_js[] = {
#embed "../QuakeServer/Page/Files/view.js"
};
static const unsigned char page_words_js[] = {
#embed "../QuakeServer/Page/Files/words.js"
};
static const unsigned char tiles_borders_txt[] = {
#embed "../QuakeServer/Page/Tiles/borders.txt"
};
static const unsigned char tiles_coast_txt[] = {
#embed "../QuakeServer/Page/Tiles/coast.txt"
};
static const unsigned char tiles_faults_txt[] = {
#embed "../QuakeServer/Page/Tiles/faults.txt"
};

static const struct embedded_file files[] = {
    {"migrations/0001_history.sql", migrations_0001_history_sql, sizeof migrations_0001_history_sql},
    {"migrations/0002_quake.sql", migrations_0002_quake_sql, sizeof migrations_0002_quake_sql},
    {"migrations/0003_import.sql", migrations_0003_import_sql, sizeof migrations_0003_import_sql},
    {"migrations/0004_settling.sql", migrations_0004_settling_sql, sizeof migrations_0004_settling_sql},
    {"migrations/0005_association.sql", migrations_0005_association_sql, sizeof migrations_0005_association_sql},
    {"migrations/0006_report.sql", migrations_0006_report_sql, sizeof migrations_0006_report_sql},
    {"migrations/0007_notify.sql", migrations_0007_notify_sql, sizeof migrations_0007_notify_sql},
    {"map/islands.txt", map_islands_txt, sizeof map_islands_txt},
    {"map/land.txt", map_land_txt, sizeof map_land_txt},
    {"map/places.txt", map_places_txt, sizeof map_places_txt},
    {"page/agencies.js", page_agencies_js, sizeof page_agencies_js},
    {"page/alerts.js", page_alerts_js, sizeof page_alerts_js},
    {"page/beachball.js", page_beachball_js, sizeof page_beachball_js},
    {"page/borders.txt", page_borders_txt, sizeof page_borders_txt},
    {"page/card.png", page_card_png, sizeof page_card_png},
    {"page/catalogue.js", page_catalogue_js, sizeof page_catalogue_js},
    {"page/controls.js", page_controls_js, sizeof page_controls_js},
    {"page/coverage.js", page_coverage_js, sizeof page_coverage_js},
    {"page/detail.js", page_detail_js, sizeof page_detail_js},
    {"page/dom.js", page_dom_js, sizeof page_dom_js},
    {"page/dots.js", page_dots_js, sizeof page_dots_js},
    {"page/earth.js", page_earth_js, sizeof page_earth_js},
    {"page/format.js", page_format_js, sizeof page_format_js},
    {"page/gestures.js", page_gestures_js, sizeof page_gestures_js},
    {"page/groups.js", page_groups_js, sizeof page_groups_js},
    {"page/icon-192.png", page_icon_192_png, sizeof page_icon_192_png},
    {"page/icon-512.png", page_icon_512_png, sizeof page_icon_512_png},
    {"page/icon.svg", page_icon_svg, sizeof page_icon_svg},
    {"page/index.html", page_index_html, sizeof page_index_html},
    {"page/legend.js", page_legend_js, sizeof page_legend_js},
    {"page/list.js", page_list_js, sizeof page_list_js},
    {"page/live.js", page_live_js, sizeof page_live_js},
    {"page/machine.js", page_machine_js, sizeof page_machine_js},
    {"page/main.js", page_main_js, sizeof page_main_js},
    {"page/manifest.webmanifest", page_manifest_webmanifest, sizeof page_manifest_webmanifest},
    {"page/map.js", page_map_js, sizeof page_map_js},
    {"page/mechanism.js", page_mechanism_js, sizeof page_mechanism_js},
    {"page/notify.js", page_notify_js, sizeof page_notify_js},
    {"page/page.css", page_page_css, sizeof page_page_css},
    {"page/plates.txt", page_plates_txt, sizeof page_plates_txt},
    {"page/projection.js", page_projection_js, sizeof page_projection_js},
    {"page/quake.js", page_quake_js, sizeof page_quake_js},
    {"page/scale.js", page_scale_js, sizeof page_scale_js},
    {"page/service.js", page_service_js, sizeof page_service_js},
    {"page/settings.js", page_settings_js, sizeof page_settings_js},
    {"page/share.js", page_share_js, sizeof page_share_js},
    {"page/start.js", page_start_js, sizeof page_start_js},
    {"page/status.js", page_status_js, sizeof page_status_js},
    {"page/tiles.js", page_tiles_js, sizeof page_tiles_js},
    {"page/timeline.js", page_timeline_js, sizeof page_timeline_js},
    {"page/tooltip.js", page_tooltip_js, sizeof page_tooltip_js},
    {"page/view.js", page_view_js, sizeof page_view_js},
    {"page/words.js", page_words_js, sizeof page_words_js},
    {"tiles/borders.txt", tiles_borders_txt, sizeof tiles_borders_txt},
    {"tiles/coast.txt", tiles_coast_txt, sizeof tiles_coast_txt},
    {"tiles/faults.txt", tiles_faults_txt, sizeof tiles_faults_txt},
};

const struct embedded_file *const embedded_files = files;
const size_t embedded_file_count = sizeof files / sizeof files[0];
