"""The words the built-in model knows, by what they mean. Everything is lower case; nothing here decides anything."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which is how long lists of them read best."""
    return frozenset(text.split())


# Weather, said outright.
WEATHER = word_set(
    "weather forecast forecasts temperature temperatures rainy raining rains snowy snowing snows sunny sunshine "
    "cloudy overcast windy humid humidity drizzle drizzling drizzly thunderstorm thunderstorms stormy foggy hailing "
    "sleet"
)
# Weather only where something asks how it is: "how hot is it", "will it rain", not "a hot meal".
WEATHER_WHEN_ASKED = word_set(
    "rain snow hot cold warm hotter colder warmer cooler wetter drier windier sunnier rainier chilly freezing cool "
    "mild wind winds degrees storm storms fog hail frost wet dry sun clouds"
)
# Things one takes along because of the weather: "do I need an umbrella".
WEATHER_GEAR = word_set("umbrella raincoat sunscreen sunglasses coat jacket sweater scarf gloves boots")
GEAR_VERBS = word_set("need take bring wear pack carry")
# A forecast of these is no weather.
NO_WEATHER_FORECAST = word_set(
    "sales revenue budget earnings economic market stock election price prices financial demand"
)

ROUTE = word_set(
    "direction directions route routes distance distances navigate navigation driving-directions itinerary"
)
# Words that make "from X to Y" a question about the way.
MOVEMENT = word_set(
    "how get getting go going travel travelling traveling trip journey way commute reach take long far come coming "
    "leave leaving head heading bring ride move"
)

MODES = {
    **dict.fromkeys(("drive", "driving", "car", "drives", "auto"), "drive"),
    **dict.fromkeys(("walk", "walking", "foot", "walks", "hike", "hiking", "stroll", "pedestrian"), "walk"),
    **dict.fromkeys(("bike", "bicycle", "cycle", "cycling", "biking", "bicycling", "bikes", "cyclist"), "bicycle"),
}
# What each mode may be called in a tool's schema.
MODE_NAMES = {
    "drive": ("drive", "driving", "car", "auto"),
    "walk": ("walk", "walking", "foot", "pedestrian"),
    "bicycle": ("bicycle", "bike", "cycle", "cycling", "bicycling"),
    "transit": ("transit", "public_transport", "train", "bus"),
}
OTHER_TRANSPORT = word_set(
    "train trains bus buses tram trams metro subway tube underground plane planes fly flying flight flights ferry "
    "ferries boat ship taxi cab uber transit rail motorcycle motorbike scooter coach airplane"
)

UNITS = {
    **dict.fromkeys(("fahrenheit", "imperial"), "imperial"),
    **dict.fromkeys(("celsius", "centigrade", "metric"), "metric"),
}
UNIT_NAMES = {"imperial": ("imperial", "fahrenheit", "f", "us"), "metric": ("metric", "celsius", "c", "si")}

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY_SHORT = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
# "sun" shines and "sat" is what one did: they are days only behind a word that says so.
WEEKDAY_SHORT_AFTER_ON = {"sat": 5, "sun": 6}
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
NUMBERS = {
    word: n
    for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1)
}
DAY_PARTS = word_set("morning afternoon evening night noon midday midnight lunchtime")
DAY_LEADS = word_set("on for this at the during over next coming by")

SEPARATORS = word_set("and then also plus or but nor vs versus")
# In, at, of: what follows is where. From, to, via: a way.
WHERE = word_set("in at for of near around over across within inside outside into")
WAY = word_set("from to toward towards via through between")

GREETING = word_set(
    "hi hello hey dear thanks thank cheers please good morning afternoon evening day night bye goodbye ok okay yes no "
    "sure great regards best kind sincerely you much very so many there welcome greetings folks everyone all team sir "
    "madam alright right well"
)
SALUTATIONS = word_set("hi hello hey dear thanks thank regards cheers")
# Words a fragment may hold besides a place, a day or a mode: "and what about Lyon then, please?"
FILLER = word_set(
    "and also what about how please then plus or the same for in at too as well again ok okay now is it be will are "
    "ditto going there by like on both each with via to tell me know let us would could can you i want need so "
    "respectively"
)
# Words between a tool's name and what it is asked about.
LEADS_TO_TOPIC = word_set("for of about on in at with from to named called please")
# Words before the verb that says what is wanted.
PREAMBLE = word_set(
    "please can could would will you i we to want wants need like i'd i'll we'd let me us also just kindly hey hi "
    "hello then now and should must have"
)
# Verbs that ask for something no look-up gives, however many cities they mention.
OTHER_VERBS = word_set(
    """book buy reserve order cancel pay rent hire sell translate convert schedule write compose draw paint sing email
    mail call phone text send post delete remove create make build code play sign transfer change rename move copy
    upload download install deploy invite remind print ignore forget summarise summarize analyse analyze solve
    calculate fix debug proofread rewrite edit"""
)
# "send me the weather" asks to be told.
TELLING = word_set("send text email mail make")
STATEMENTS = word_set("i'm im we're i'll we'll i've we've my our there it's there's")
STATEMENT_VERBS = word_set("am are was were will live have has had arrive stay leave travel fly drive land work")
# A statement with one of these asks after all: "I am looking for directions".
ASKING = word_set(
    "looking trying wondering curious interested asking need want like wish know question questions weather forecast "
    "directions direction route"
)
QUESTION_STARTS = word_set(
    "what which who where when why how is are was were will would can could do does did should may might whether if "
    "please tell any"
)
SUBORDINATE = word_set("because since unless although though")
# An aside behind a comma: "Paris, my favourite city".
ASIDES = word_set("my our which who where whose")
# Verbs that name a subtask well: "find_hotels".
LOOKUP_VERBS = word_set("find search look check list get show compare fetch book reserve translate convert")

PLACE_NOUNS = word_set(
    "airport station park beach city centre center downtown street square bridge museum university hospital tower "
    "castle island lake mountain harbour harbor port village town old hotel cathedral palace market campus terminal "
    "county region valley river bay hill hills zoo stadium central avenue road"
)
PARTICLES = word_set(
    "of de la le les du des del della di da do dos das am an der den dem und upon on sur sous y el al en aux the"
)

# No place begins with these, and a place written small ends before them.
STOP = word_set(
    """a an the my your his her its our their this that these those some any every each all both either such no not one
    i me you he she it we they them us here there who whom whose which what when where why how is are was were be
    been being am do does did done doing have has had having will would shall should can could may might must ought
    let lets let's i'm i'd i'll i've we're we'd we'll it's that's what's don't doesn't won't can't isn't and or but
    nor so if then than because since while until unless although though as with without about from to via by per
    toward towards through into onto off out up down between during before after around near at in for of on over
    under across within please thanks thank hi hello hey also too just only even still again very really get gets
    getting got go goes going gone come comes coming take takes taking make makes give gives show shows tell tells
    find finds check checks compare describe report explain provide fetch display return retrieve predict estimate
    look looks looking search list lists know knows see sees say says need needs want wants like likes help helps
    plan plans planning visit visits visiting travel travels travelling traveling bring wear pack carry book buy
    reserve order cancel pay rent hire write send call translate convert use using try trying expect expected think
    hope wonder wondering reach leave leaving arrive arriving start starting stay staying weather forecast forecasts
    temperature temperatures direction directions route routes distance long far fast quick quickly best good bad
    nice-looking current currently local general detail details case advance fact least most more less much many few
    lot first last next previous past following same different other another time times day days week weeks month
    months year years hour hours minute minutes moment morning afternoon evening night noon midday midnight weekend
    weekends now today tonight tomorrow yesterday later soon early late dinner lunch breakfast free example instance
    course home work sure certain question questions answer answers thing things place places city-trip cities
    location locations town towns area areas country countries spot spots trip trips holiday holidays vacation
    journey outside inside outdoors restaurant restaurants table tables hotel hotels flight flights ticket tickets
    fahrenheit celsius centigrade metric imperial degrees units unit english whether two three four five six seven
    eight nine ten people persons person adults kids children"""
)
STOP_BUT_NAMES = word_set("times long good best hotel general first home half many one two three seven ten")
"""Words that begin a name after all where another large word follows: Times Square, Long Beach."""

# The adjectives one puts before "weather"; "nice" is a city too, so it is none of them.
WEATHER_ADJECTIVES = word_set(
    "severe lovely bad good awful terrible current local outdoor hourly daily weekly monthly latest"
)
